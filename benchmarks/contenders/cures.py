"""What makes the project fast, each against the form that people write otherwise."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import jax

from .host import host_share
from .problem import BATCH_SIZE, Run
from .project import Project


def other_convolution(project: Project, name: str) -> Run:
    """Another form that the project has, in the place of what it chooses for this device."""
    form = getattr(project.module("modeling.convolution"), name)
    return project.run_patched("modeling.convolution", "conv2d", form)


def over_three_axes(linear: Any, x: jax.Array) -> jax.Array:
    """In the place of `modeling.layers.Linear.__call__`: axes stay as they are."""
    return x @ linear.weight.T.astype(x.dtype)


def over_two_vmaps(linear: Any, x: jax.Array) -> jax.Array:
    """Likewise: one token at a time, as Equinox has its layers."""
    return jax.vmap(jax.vmap(lambda token: linear.weight.astype(x.dtype) @ token))(x)


def forms(project: Project) -> dict[str, Callable[..., Any]]:
    """Programs to time, and answers about the project's own."""
    patched = {
        "three axes": ("modeling.layers", "Linear.__call__", over_three_axes),
        "two vmaps": ("modeling.layers", "Linear.__call__", over_two_vmaps),
    }
    return {
        "stepwise": project.run_stepwise,
        "flops": lambda: {"flops": project.flops()},
        "memory": partial(memory, project),
        "host": partial(host_share, project),
        "convolution": partial(other_convolution, project, "plain_conv2d"),
        "patches": partial(other_convolution, project, "patches_conv2d"),
        **{name: partial(project.run_patched, *patch) for name, patch in patched.items()},
    }


def memory(project: Project) -> dict[str, float]:
    """Bytes of the compiled chunk, in several ways of making it."""
    parts = {"accumulate": 4 if BATCH_SIZE[project.model] % 4 == 0 else 1}
    ways: dict[str, Any] = {
        "donated": project.program(10),
        "kept": project.program(10, donate=False),
        "100 steps": project.program(100),
        "accumulate": project.program(10, **parts),
    }
    if project.model == "transformer":
        remat = project.model_config(remat=True)
        ways["remat"] = project.program(10, model=remat)
        ways["remat, accumulate"] = project.program(10, model=remat, **parts)
        ways["loss.chunk"] = project.program(10, loss=replace(project.config.loss, chunk=16))
    return {name: peak(program) for name, program in ways.items()}


def peak(program: Any) -> float:
    """Arguments, results and temporary buffers; what is donated counts once."""
    sizes = program.memory_analysis()
    total = sizes.argument_size_in_bytes + sizes.output_size_in_bytes + sizes.temp_size_in_bytes
    return float(total - sizes.alias_size_in_bytes)

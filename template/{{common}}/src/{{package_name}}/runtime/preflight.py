"""What a run will be, before it is one: size, operations, memory, and where the arrays go."""

import math
import statistics
from typing import Any

import jax
from jaxtyping import PyTree

from ..configs import TrainConfig, for_device
from ..core.flops import count_flops
from ..core.keys import root_key
from ..core.pytrees import count_elements, dotted
from ..core.sharding import divided_like
from ..modeling.model import TENSOR_AXES
from ..training.loops import train_step
from ..training.state import abstract_state
from .devices import open_mesh
from .feeding import open_feed
from .memory import program_bytes
from .tracking import read_metrics

_LARGEST = 10
"""Arrays that are listed."""


def preflight(config: TrainConfig) -> list[str]:
    """Compile the program that trains, without running it.

    Args:
        config: the run's config, checked.

    Returns:
        Lines for people. Memory is that of one device.
    """
    mesh, traced = open_mesh(config.mesh), for_device(config)
    steps = min(config.log_every, config.steps)
    with jax.set_mesh(mesh), open_feed(config, mesh, 0, steps) as feed:
        call = feed.first(steps)
        state = divided_like(abstract_state(traced, root_key(0)), mesh, TENSOR_AXES)
        compiled = call.train.lower(state, *call.examples, traced).compile()
        flops = count_flops(train_step, state, call.batch, traced)
    memory: Any = compiled.memory_analysis()
    data_bytes = sum(_bytes_a_device(x) for x in jax.tree.leaves(call.examples))
    rows = [
        ("devices", f"{mesh.size} x {mesh.devices.flat[0].device_kind}: {_sizes(mesh)}"),
        ("parameters", f"{count_elements(state.params):,}"),
        ("operations", f"{flops / 1e9:,.4g} GFLOP a step of {config.data.batch_size} examples"),
        ("state", _amount(sum(_bytes_a_device(x) for x in jax.tree.leaves(state)))),
        ("examples", _amount(data_bytes)),
        ("activations", _amount(memory.temp_size_in_bytes)),
        ("at the peak", _amount(program_bytes(compiled))),
        ("speed", _measured(config)),
    ]
    largest = sorted(jax.tree_util.tree_leaves_with_path(state), key=lambda x: -x[1].size)
    return [
        *(f"{name:<12} {value}" for name, value in rows),
        "largest arrays, and which of their axes are divided over which axes of the mesh:",
        *(_row(path, leaf) for path, leaf in largest[:_LARGEST]),
    ]


def _sizes(mesh: jax.sharding.Mesh) -> str:
    return " x ".join(f"{name} {size}" for name, size in mesh.shape.items())


def _bytes_a_device(leaf: PyTree) -> int:
    part = math.prod(leaf.sharding.shard_shape(leaf.shape))
    # A random key has no size that NumPy knows; it is two numbers of 32 bits.
    return part * getattr(leaf.dtype, "itemsize", 8)


def _amount(size: float) -> str:
    return f"{size / 2**20:,.2f} MiB a device"


def _measured(config: TrainConfig) -> str:
    speeds = [
        line["steps_per_second"]
        for line in read_metrics(config.run_dir)
        if "steps_per_second" in line
    ]
    if not speeds:
        return f"not measured yet in {config.run_dir}"
    return f"{statistics.median(speeds):.3g} steps/s, measured in {config.run_dir}"


def _row(path: tuple[Any, ...], leaf: PyTree) -> str:
    shape = " x ".join(map(str, leaf.shape))
    return f"  {dotted(path)}: {shape}, {leaf.sharding.spec}, {_amount(_bytes_a_device(leaf))}"

"""What a run will be, before it is one: size, operations, memory, and where the arrays go."""

import math
import re
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
from ..training.state import TrainState, abstract_state
from .devices import open_mesh
from .feeding import open_feed
from .memory import program_bytes
from .tracking import read_metrics

_LARGEST = 10
"""Kinds of arrays that are listed."""


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
    return [
        *(f"{name:<12} {value}" for name, value in rows),
        "largest arrays, and which of their axes are divided over which axes of the mesh",
        "(x4: so many, with equal layers, moments and averages; the size is that of all):",
        *largest_arrays(state)[:_LARGEST],
    ]


def largest_arrays(state: TrainState) -> list[str]:
    """A line for each kind of arrays, the kind that takes most first.

    Of a kind are arrays of equal shape and division at the same place of equal layers, and the
    moments and the average that belong to them.

    Args:
        state: arrays, or shapes that know how they are divided.
    """
    of_params = {path for path, _ in jax.tree_util.tree_leaves_with_path(state.params)}
    kinds: dict[Any, list[tuple[str, PyTree]]] = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(state):
        # The path of a moment or an average ends with that of its parameter.
        ends = (path[start:] for start in range(len(path)))
        name = dotted(next((end for end in ends if end in of_params), path))
        kind = (_any_layer(name), leaf.shape, leaf.dtype, leaf.sharding.spec)
        kinds.setdefault(kind, []).append((name, leaf))
    largest = sorted(kinds.values(), key=lambda kind: -len(kind) * _bytes_a_device(kind[0][1]))
    return [_row(kind) for kind in largest]


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


def _any_layer(name: str) -> str:
    return re.sub(r"(^|\.)\d+(?=\.|$)", r"\1*", name)


def _row(kind: list[tuple[str, PyTree]]) -> str:
    (name, leaf), count = kind[0], len(kind)
    if any(other != name for other, _ in kind):
        name = _any_layer(name)
    shape = " x ".join(map(str, leaf.shape))
    size = _amount(count * _bytes_a_device(leaf))
    return f"  {name} x{count}: {leaf.dtype} {shape}, {leaf.sharding.spec}, {size}"

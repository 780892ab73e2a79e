"""How arrays are divided over devices: a mesh with three named axes, and one rule for the state.

`data` and `fsdp` divide the batch; `fsdp` and `tensor` divide parameters and all that is shaped
like them. Functions that run inside `jax.jit` read the mesh that `jax.set_mesh` has set, and leave
everything as it is where none is set. Placement never changes what is computed, only where.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

from .pytrees import dotted

T = TypeVar("T", bound=PyTree)

_AXES = ("data", "fsdp", "tensor")

BATCH_AXES = ("data", "fsdp")
"""Mesh axes that divide the examples of a batch."""

SMALL = 1024
"""Arrays with fewer elements are on every device whole: fetching their parts would cost more."""


def make_mesh(
    data: int, fsdp: int = 1, tensor: int = 1, devices: Sequence[Any] | None = None
) -> Mesh:
    """A mesh over the first `data * fsdp * tensor` devices, which XLA divides work over by itself.

    Args:
        data: groups of devices that hold copies of the state, each with its part of the batch.
        fsdp: devices in a group that divide the state and their batch among them (Zhao et al.,
            2023).
        tensor: devices that divide each large matrix and compute its product together (Shoeybi et
            al., 2019).
        devices: all of them if not given.
    """
    devices = jax.devices() if devices is None else devices
    count = data * fsdp * tensor
    return jax.make_mesh(
        (data, fsdp, tensor),
        _AXES,
        axis_types=(AxisType.Auto,) * 3,
        devices=devices[:count],
    )


def leaf_spec(
    name: str, shape: Sequence[int], sizes: Mapping[str, int], tensor_axes: Mapping[str, int]
) -> PartitionSpec:
    """Which axes of an array are divided over which axes of the mesh.

    Small arrays are not divided. Of others, the axis that `tensor_axes` gives for the end of the
    name goes to `tensor`, and the longest of the other axes to `fsdp`, where these divide evenly.

    Args:
        name: dotted name of the array, such as `params.layers.0.weight`.
        shape: its shape.
        sizes: size of each axis of the mesh.
        tensor_axes: end of a name to axis, counted from the back.
    """
    axes: list[str | None] = [None] * len(shape)
    if math.prod(shape) >= SMALL:
        for end, axis in tensor_axes.items():
            is_named = name == end or name.endswith("." + end)
            if is_named and sizes["tensor"] > 1 and shape[axis] % sizes["tensor"] == 0:
                axes[axis] = "tensor"
        if sizes["fsdp"] > 1:
            free = [i for i, size in enumerate(shape) if not axes[i] and size % sizes["fsdp"] == 0]
            if free:
                axes[max(free, key=lambda i: shape[i])] = "fsdp"
    while axes and axes[-1] is None:  # as JAX writes them, or equal ones would differ
        axes.pop()
    return PartitionSpec(*axes)


def tree_specs(tree: PyTree, sizes: Mapping[str, int], tensor_axes: Mapping[str, int]) -> PyTree:
    """A tree like `tree` with the `leaf_spec` of each array."""
    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: leaf_spec(dotted(path), leaf.shape, sizes, tensor_axes), tree
    )


def divided_like(tree: PyTree, mesh: Mesh, tensor_axes: Mapping[str, int]) -> PyTree:
    """Shapes and dtypes of a state with the place that each array has on a mesh."""
    return jax.tree.map(
        lambda x, spec: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=NamedSharding(mesh, spec)),
        tree,
        tree_specs(tree, mesh.shape, tensor_axes),
    )


def batch_parts(mesh: Mesh | None) -> int:
    """In how many parts a mesh divides a batch."""
    return 1 if mesh is None else math.prod(mesh.shape[axis] for axis in BATCH_AXES)


def divide_state(tree: T, tensor_axes: Mapping[str, int]) -> T:
    """Divide a state over the mesh that is set, by `leaf_spec`; for use inside `jax.jit`."""
    if not _is_set():
        return tree
    sizes = jax.sharding.get_abstract_mesh().shape
    return jax.lax.with_sharding_constraint(tree, tree_specs(tree, sizes, tensor_axes))


def divide_batch(tree: T, axis: int = 0) -> T:
    """Divide the examples of a batch over the mesh that is set; for use inside `jax.jit`."""
    spec = PartitionSpec(*[None] * axis, BATCH_AXES)
    return _constrain(tree, spec) if _is_set() else tree


def replicate(tree: T) -> T:
    """Have a result whole on each device of the mesh that is set; for use inside `jax.jit`."""
    return _constrain(tree, PartitionSpec()) if _is_set() else tree


def place(tree: PyTree, mesh: Mesh, spec: PartitionSpec) -> PyTree:
    """Put arrays of this process, which every process has alike, onto the devices of a mesh.

    Each process gives its own devices their parts, so no data goes from process to process.
    """
    sharding = NamedSharding(mesh, spec)

    def put(x: PyTree) -> jax.Array:
        if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
            bits = put(jax.random.key_data(x))
            return jax.random.wrap_key_data(bits, impl=jax.random.key_impl(x))
        values = np.asarray(x)
        return jax.make_array_from_callback(values.shape, sharding, lambda index: values[index])

    return jax.tree.map(put, tree)


def _is_set() -> bool:
    """Whether a mesh of `make_mesh` is set, and XLA divides over it: not so in `jax.shard_map`."""
    mesh = jax.sharding.get_abstract_mesh()
    return mesh.axis_names == _AXES and mesh.are_all_axes_auto


def _constrain(tree: T, spec: PartitionSpec) -> T:
    return jax.tree.map(lambda x: jax.lax.with_sharding_constraint(x, spec), tree)

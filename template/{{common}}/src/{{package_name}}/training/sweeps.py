"""Many runs as one program: configs and states are stacked along a first axis of members.

All members share the structure of their configs; their floats and seeds differ. What one member
does is what `training.loops` does to a run, mapped over that axis.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh
from jax.sharding import PartitionSpec as P
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from ..configs import TrainConfig
from ..core.sharding import place
from ..data.sources import Data
from .loops import Metrics, evaluate, train_chunk
from .state import TrainState, init_state

_AXIS = "member"


def stack_configs(configs: Sequence[TrainConfig]) -> TrainConfig:
    """One config whose floats have an axis of members in front.

    Raises:
        ValueError: the configs differ in what is static.
    """
    return jax.tree.map(lambda *values: np.stack(values), *configs)


def take_members(tree: PyTree, rows: Int[np.ndarray, "rows"]) -> PyTree:
    """Some rows of a stacked tree."""

    def take(x: Array | np.ndarray) -> Array | np.ndarray:
        if not jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
            return x[rows]
        # As numbers: to take a key out of an array counts as a use of it.
        return jax.random.wrap_key_data(jax.random.key_data(x)[rows], impl=jax.random.key_impl(x))

    return jax.tree.map(take, tree)


def member_mesh(devices: int) -> Mesh:
    """A mesh of the first devices, to give each members of its own."""
    return jax.make_mesh((devices,), (_AXIS,), (AxisType.Auto,), devices=jax.devices()[:devices])


def place_members(tree: PyTree, mesh: Mesh) -> PyTree:
    """A stacked tree on the devices, each with whole members of its own."""
    return place(tree, mesh, P(_AXIS))


def place_shared(tree: PyTree, mesh: Mesh) -> PyTree:
    """A tree that all members share, whole on each device."""
    return place(tree, mesh, P())


@partial(jax.jit, static_argnames=("width", "mesh"))
def init_members(
    configs: TrainConfig, keys: Key[Array, "members"], width: int, mesh: Mesh
) -> TrainState:
    """The states before the first step.

    Args:
        configs: stacked configs.
        keys: root key of each member.
        width: as in `train_members`.
        mesh: as in `train_members`.
    """

    def init(_: None, member: tuple[TrainConfig, Array]) -> TrainState:
        return init_state(*member)

    return _map(init, None, (configs, keys), width, mesh)


@partial(jax.jit, static_argnames=("width", "mesh"), donate_argnames="states")
def train_members(
    states: TrainState,
    data: Data,
    indices: Int[Array, "members steps batch"],
    configs: TrainConfig,
    width: int,
    mesh: Mesh,
) -> tuple[TrainState, Metrics]:
    """Several steps of every member in one compiled program.

    Args:
        states: stacked states; donated, as by `train_chunk`.
        data: the whole data set, which all members share.
        indices: for each member and step, which examples make its batch.
        configs: stacked configs.
        width: members that are computed side by side, by `vmap`. With 1 they are computed one after
            another, by the operations of a run of its own.
        mesh: devices, which share the members out evenly.

    Returns:
        The states after the last step, and the metrics of each member and step.
    """

    def train(data: Data, member: tuple[TrainState, Array, TrainConfig]) -> Any:
        state, index, config = member
        return train_chunk(state, data, index, config)

    return _map(train, data, (states, indices, configs), width, mesh)


@partial(jax.jit, static_argnames=("width", "mesh"))
def evaluate_members(
    states: TrainState,
    data: Data,
    indices: Int[Array, "batches batch"],
    valid: Bool[Array, "batches batch"],
    configs: TrainConfig,
    width: int,
    mesh: Mesh,
) -> dict[str, Float[Array, "members"]]:
    """Metrics of each member over a data set; arguments as of `evaluate` and `train_members`."""

    def measure(shared: Any, member: tuple[TrainState, TrainConfig]) -> dict[str, Array]:
        state, config = member
        data, indices, valid = shared
        params, model_state = state.eval_params, state.eval_model_state
        return evaluate(params, model_state, data, indices, valid, config)

    shared = (data, jnp.asarray(indices), jnp.asarray(valid))
    return _map(measure, shared, (states, configs), width, mesh)


def _map(
    function: Callable[[Any, Any], PyTree], shared: PyTree, members: PyTree, width: int, mesh: Mesh
) -> PyTree:
    """`function(shared, member)` for each member, on the device that holds it."""

    def on_one_device(shared: PyTree, members: PyTree) -> PyTree:
        # A batch of one would be a vmap over a single row, which is no longer the same program.
        size = None if width == 1 else width
        return jax.lax.map(partial(function, shared), members, batch_size=size)

    if mesh.size == 1:
        return on_one_device(shared, members)
    return jax.shard_map(
        on_one_device, mesh=mesh, in_specs=(P(), P(_AXIS)), out_specs=P(_AXIS), check_vma=False
    )(shared, members)

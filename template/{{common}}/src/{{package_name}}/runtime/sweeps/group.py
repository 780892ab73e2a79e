"""Members of a sweep that are trained together: their data, their devices, their programs."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, PyTree

from ...configs import TrainConfig, for_device
from ...core.keys import root_key
from ...data.pipeline import example_order, padded_batches
from ...data.sources import load_split, num_examples
from ...training.state import TrainState, abstract_state
from ...training.sweeps import (
    evaluate_members,
    init_members,
    member_mesh,
    place_members,
    place_shared,
    stack_configs,
    take_members,
    train_members,
)
from ..memory import device_memory, fitting_width, program_bytes


class MemberGroup:
    """Members whose configs have one structure, stacked and spread over the devices.

    Where they do not divide evenly among the devices, the last is computed several times; what goes
    in and out has a row for each member once.
    """

    def __init__(self, configs: Sequence[TrainConfig], chunk: int, at_once: int | None = None):
        """Place data and configs.

        Args:
            configs: of each member.
            chunk: steps of a usual chunk.
            at_once: members that a device computes side by side. If not given, one on a CPU, where
                more gain little, and as many as fit elsewhere.
        """
        config, most = configs[0], -(-len(configs) // len(jax.devices()))
        self._size, self._seeds = len(configs), [config.seed for config in configs]
        self._stacked = stack_configs([for_device(config) for config in configs])
        self._batch_size = config.data.batch_size
        # All devices, even for fewer members: the program stays the same when some are dropped.
        self._mesh = member_mesh(len(jax.devices()))
        self._data = place_shared(load_split(config.data, "train"), self._mesh)
        held_out = load_split(config.data, "test")
        batches = padded_batches(num_examples(held_out), config.data.eval_batch_size)
        self._held_out = place_shared((held_out, *map(jnp.asarray, batches)), self._mesh)
        width = min(most, at_once or (1 if jax.default_backend() == "cpu" else most))
        self._arrange(width)
        if not at_once:
            self._arrange(
                fitting_width(
                    width, device_memory(), lambda width: self._bytes(config, chunk, width)
                )
            )

    def _arrange(self, width: int) -> None:
        """Compute so many members side by side, and as many on each device, or a multiple."""
        even = width * self._mesh.size
        rows = np.arange(-(-self._size // even) * even)
        self._width, self._rows = width, np.minimum(rows, self._size - 1)
        self._configs = self._place(self._stacked)

    def init(self) -> TrainState:
        """The states before the first step."""
        keys = self._place(jnp.stack([root_key(seed) for seed in self._seeds]))
        return init_members(self._configs, keys, self._width, self._mesh)

    def load(self, states: PyTree) -> TrainState:
        """States with a row a member, on the devices."""
        return self._place(states)

    def unload(self, states: TrainState) -> TrainState:
        """States with a row a member, to be saved."""
        return self._unpad(states)

    def train(
        self, states: TrainState, step: int, count: int
    ) -> tuple[TrainState, dict[str, Float[np.ndarray, "members steps"]]]:
        """Train `count` steps, from `step` on; the states that go in are used up."""
        indices = self._indices(step, count)
        states, metrics = train_members(
            states, self._data, indices, self._configs, self._width, self._mesh
        )
        return states, self._unpad(jax.device_get(metrics))

    def evaluate(self, states: TrainState) -> list[dict[str, float]]:
        """Held-out metrics of each member, named `eval/...`."""
        metrics = evaluate_members(states, *self._held_out, self._configs, self._width, self._mesh)
        metrics = jax.device_get(metrics)
        return [
            {f"eval/{name}": float(values[row]) for name, values in metrics.items()}
            for row in range(self._size)
        ]

    def _place(self, tree: PyTree) -> PyTree:
        padded = tree if len(self._rows) == self._size else take_members(tree, self._rows)
        return place_members(padded, self._mesh)

    def _unpad(self, tree: PyTree) -> PyTree:
        if len(self._rows) == self._size:
            return tree
        return take_members(tree, np.arange(self._size))

    def _indices(self, step: int, count: int) -> Int[np.ndarray, "rows steps batch"]:
        start, size = step * self._batch_size, num_examples(self._data)
        order = {
            seed: example_order(size, seed, start, count * self._batch_size)
            for seed in dict.fromkeys(self._seeds)
        }
        stacked = np.stack([order[self._seeds[row]] for row in self._rows])
        indices = stacked.reshape(len(self._rows), count, self._batch_size)
        return place_members(indices, self._mesh)

    def _bytes(self, config: TrainConfig, chunk: int, width: int) -> int:
        self._arrange(width)
        states = stacked_shapes(config, len(self._rows))
        indices = np.zeros((len(self._rows), chunk, self._batch_size), np.int32)
        lowered = train_members.lower(states, self._data, indices, self._configs, width, self._mesh)
        return program_bytes(lowered.compile())


def stacked_shapes(config: TrainConfig, size: int) -> TrainState:
    """Shapes and dtypes of the states of so many members."""
    one = abstract_state(for_device(config), root_key(0))
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct((size, *x.shape), x.dtype), one)

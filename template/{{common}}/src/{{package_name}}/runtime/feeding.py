"""How examples get to the devices: all of them before the first step, or a chunk at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

from ..configs import TrainConfig
from ..core.sharding import BATCH_AXES, place
from ..data.pipeline import example_order
from ..data.sources import Batch, load_split, num_examples, open_source, take_batch
from ..data.streaming import ReadBatch, open_stream
from ..training.loops import Metrics, train_batches, train_chunk
from ..training.state import TrainState
from .debugging import train_eagerly

_BY_EXAMPLE = PartitionSpec(None, BATCH_AXES)


class TrainCall(NamedTuple):
    """A call that trains some steps: the compiled function and the examples for it."""

    train: Any
    """`train_chunk` or `train_batches`: a compiled function of the state, the examples and the
    config."""
    examples: tuple[PyTree, ...]
    batch: Batch
    """Shapes and dtypes of one batch."""


class Feed(Protocol):
    """Takes the steps of a chunk with the examples that are next."""

    size: int
    """Number of examples in the training set."""

    def first(self, steps: int) -> TrainCall:
        """The first examples of all, for a look at what training will do; the feed stays."""
        ...

    def train(
        self, state: TrainState, examples_seen: int, steps: int, config: TrainConfig
    ) -> tuple[TrainState, Metrics]:
        """As `train_chunk`, with the examples behind `examples_seen`."""
        ...


@contextmanager
def open_feed(config: TrainConfig, mesh: Mesh, examples_seen: int, steps: int) -> Iterator[Feed]:
    """What the config's `loader` asks for.

    Args:
        config: the run's config.
        mesh: the devices.
        examples_seen: position in the data.
        steps: how many will be trained from there.
    """
    if not config.loader.stream:
        yield _Resident(config, mesh)
        return
    source, size = open_source(config.data, "train"), config.data.batch_size
    rows = _rows_of_process(mesh, size)
    read = ReadBatch(source, config.seed, examples_seen, size, rows)
    with open_stream(read, steps, config.loader.ahead, config.loader.workers) as batches:
        yield _Streamed(config, mesh, len(source), rows, read, batches)


class _Resident:
    """The whole training set lies on each device, and batches are gathered inside the program."""

    def __init__(self, config: TrainConfig, mesh: Mesh):
        data = load_split(config.data, "train")
        self.size = num_examples(data)
        self._config, self._mesh = config, mesh
        self._data = place(data, mesh, PartitionSpec())

    def train(
        self, state: TrainState, examples_seen: int, steps: int, config: TrainConfig
    ) -> tuple[TrainState, Metrics]:
        indices = self._indices(examples_seen, steps)
        if self._config.debug_nans:
            batches = (take_batch(self._data, index, config.data) for index in indices)
            return train_eagerly(state, batches, config)
        return train_chunk(state, self._data, indices, config)

    def first(self, steps: int) -> TrainCall:
        indices = self._indices(0, steps)
        batch = jax.eval_shape(take_batch, self._data, indices[0], self._config.data)
        return TrainCall(train_chunk, (self._data, indices), batch)

    def _indices(self, start: int, steps: int) -> PyTree:
        """Which examples make the batch of each step."""
        batch_size = self._config.data.batch_size
        order = example_order(self.size, self._config.seed, start, steps * batch_size)
        indices = order.astype(np.int32).reshape(steps, batch_size)
        return place(indices, self._mesh, _BY_EXAMPLE)


class _Streamed:
    """A chunk's batches come from the host; the next ones are read while it is trained."""

    def __init__(
        self,
        config: TrainConfig,
        mesh: Mesh,
        size: int,
        rows: list[int],
        read: ReadBatch,
        batches: Iterator[Batch],
    ):
        self.size = size
        self._config, self._rows, self._read, self._batches = config, rows, read, batches
        self._sharding = NamedSharding(mesh, _BY_EXAMPLE)

    def train(
        self, state: TrainState, examples_seen: int, steps: int, config: TrainConfig
    ) -> tuple[TrainState, Metrics]:
        del examples_seen  # the batches are in order already
        parts = [next(self._batches) for _ in range(steps)]
        if self._config.debug_nans:
            return train_eagerly(state, parts, config)
        return train_batches(state, self._stack(parts), config)

    def first(self, steps: int) -> TrainCall:
        batches = self._stack([self._read(number) for number in range(steps)])
        batch = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), batches)
        return TrainCall(train_batches, (batches,), batch)

    def _stack(self, parts: list[Batch]) -> PyTree:
        return jax.tree.map(lambda *arrays: self._place(np.stack(arrays)), *parts)

    def _place(self, local: np.ndarray) -> jax.Array:
        """Rows of this process onto its devices."""
        shape = (local.shape[0], self._config.data.batch_size, *local.shape[2:])

        def part(index: Any) -> np.ndarray:
            first, end, _ = index[1].indices(shape[1])
            begin = self._rows.index(first)
            return local[:, begin : begin + end - first]

        return jax.make_array_from_callback(shape, self._sharding, part)


def _rows_of_process(mesh: Mesh, batch_size: int) -> list[int]:
    """The places in a batch that devices of this process hold."""
    sharding = NamedSharding(mesh, PartitionSpec(BATCH_AXES))
    held = sharding.addressable_devices_indices_map((batch_size,)).values()
    return sorted({row for index in held if index for row in range(*index[0].indices(batch_size))})

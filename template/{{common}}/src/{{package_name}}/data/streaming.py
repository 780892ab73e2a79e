"""Batches read while training goes on, for data that does not fit on a device.

Grain reads ahead, in threads or in processes of its own. It is asked for batches by their number,
so nothing of it has to be saved: the position in the data is a count of examples, as ever.
"""

import gc
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int, PyTree

from .pipeline import example_order
from .sources import Batch


@runtime_checkable
class Source(Protocol):
    """Examples that can be read in any order, such as records of a file or rows of an array.

    With `loader.workers` it is copied into other processes, by pickle.
    """

    def __len__(self) -> int:
        """How many examples there are."""
        ...

    def read(self, indices: Int[np.ndarray, "batch"]) -> Batch:
        """Some of them, decoded, as arrays on the host. Several threads may call it at a time."""
        ...


class ReadBatch:
    """The part of a batch that one process feeds, by the number of the batch."""

    def __init__(self, source: Source, seed: int, start: int, batch_size: int, rows: Sequence[int]):
        """Number the batches behind an example.

        Args:
            source: where examples come from.
            seed: selects the order of examples.
            start: examples used before the batch of number 0.
            batch_size: examples in the batch of all processes together.
            rows: places in it that this process feeds.
        """
        self._source, self._seed, self._start = source, seed, start
        self._batch_size, self._rows = batch_size, np.asarray(rows)

    def __call__(self, number: int) -> PyTree:
        """Read one of them, a `Batch`."""
        position = self._start + int(number) * self._batch_size
        order = example_order(len(self._source), self._seed, position, self._batch_size)
        return self._source.read(order[self._rows])

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Arrive in a worker, as a copy."""
        self.__dict__.update(state)
        if multiprocessing.parent_process() is not None:
            _end_with_parent()


def _end_with_parent() -> None:
    """Have this process end soon after the one that started it, however that ended.

    Else the workers of a run that was killed would stay, and so would the memory they share. Ctrl-C
    in a terminal reaches them too, and is left to their parent, which ends them in good order.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def open_stream(read: ReadBatch, count: int, ahead: int, workers: int) -> Iterator[Iterator[Batch]]:
    """The first `count` batches in order, some of them read ahead.

    Args:
        read: reads a batch by its number.
        count: number of batches.
        ahead: batches that are read before they are asked for.
        workers: processes that read; 0 reads in threads of this one.
    """
    import grain  # slow to import, and only needed here

    options = grain.ReadOptions(num_threads=min(ahead, 16), prefetch_buffer_size=ahead)
    batches = grain.MapDataset.range(count).map(read).to_iter_dataset(options)
    if workers > 0:
        import absl.flags

        # Grain's workers ask for flags of absl, which a program without absl never parses.
        absl.flags.FLAGS.mark_as_parsed()
        each = max(1, ahead // workers)
        batches = batches.mp_prefetch(grain.MultiprocessingOptions(workers, each))
    iterator = iter(batches)
    try:
        yield iterator
    finally:
        iterator.close()
        # Workers hand batches over in shared memory, which is freed with the last reference.
        del iterator, batches
        gc.collect()

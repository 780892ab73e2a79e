"""Which examples come next: a pure function of the seed and of how many were used before.

There is no iterator and so no iterator state. A run that is resumed, with the same batch size or
with another, goes on right behind the last example it used.
"""

from functools import lru_cache
from typing import TypeVar

import jax
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree

T = TypeVar("T", bound=PyTree)


def example_order(num_examples: int, seed: int, start: int, count: int) -> Int[np.ndarray, "count"]:
    """Indices of the examples at positions `start` to `start + count` of an endless stream.

    The stream is one permutation of all examples after another, each drawn anew.

    Args:
        num_examples: size of the data set.
        seed: selects the stream.
        start: number of examples used before.
        count: number of indices wanted.
    """
    indices = np.empty(count, np.int32)
    filled = 0
    while filled < count:
        epoch, offset = divmod(start + filled, num_examples)
        part = _permutation(num_examples, seed, epoch)[offset : offset + count - filled]
        indices[filled : filled + len(part)] = part
        filled += len(part)
    return indices


def padded_batches(
    num_examples: int, batch_size: int
) -> tuple[Int[np.ndarray, "batches batch"], Bool[np.ndarray, "batches batch"]]:
    """Every example once, in order, in batches of one size.

    Returns:
        The indices, and a mask that is False where the last batch is padded (with example 0).
    """
    batch_size = min(batch_size, num_examples)
    num_batches = -(-num_examples // batch_size)
    positions = np.arange(num_batches * batch_size, dtype=np.int32).reshape(num_batches, batch_size)
    valid = positions < num_examples
    return np.where(valid, positions, 0), valid


def take(data: T, indices: Int[Array | np.ndarray, "batch"]) -> T:
    """The examples at some indices: every array of `data` gathered along its first axis."""
    return jax.tree.map(lambda array: array[indices], data)


@lru_cache(maxsize=2)
def _permutation(num_examples: int, seed: int, epoch: int) -> Int[np.ndarray, "num_examples"]:
    return np.random.default_rng((seed, epoch)).permutation(num_examples)

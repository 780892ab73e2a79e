"""Which examples come next: a pure function of the seed and of how many were used before.

There is no iterator and so no iterator state. A run that is resumed, with the same batch size or
with another, goes on right behind the last example it used.
"""

from functools import lru_cache
from typing import TypeVar

import jax
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree, UInt64

T = TypeVar("T", bound=PyTree)

_TABLE = 2**22
"""Sets of more examples are shuffled without a table of them."""


def example_order(num_examples: int, seed: int, start: int, count: int) -> Int[np.ndarray, "count"]:
    """Indices of the examples at positions `start` to `start + count` of an endless stream.

    The stream is one permutation of all examples after another, each drawn anew.

    Args:
        num_examples: size of the data set.
        seed: selects the stream.
        start: number of examples used before.
        count: number of indices wanted.
    """
    indices = np.empty(count, np.int64)
    filled = 0
    while filled < count:
        epoch, offset = divmod(start + filled, num_examples)
        places = np.arange(offset, min(num_examples, offset + count - filled))
        indices[filled : filled + len(places)] = _shuffled(places, num_examples, seed, epoch)
        filled += len(places)
    return indices


def padded_batches(
    num_examples: int, batch_size: int, parts: int = 1
) -> tuple[Int[np.ndarray, "batches batch"], Bool[np.ndarray, "batches batch"]]:
    """Every example once, in order, in batches of one size.

    Args:
        num_examples: size of the data set.
        batch_size: examples in a batch, if there are so many; fewer or more where that takes it to
            a multiple of `parts`.
        parts: number of devices that share a batch.

    Returns:
        The indices, and a mask that is False where the last batch is padded (with example 0).
    """
    batch_size = -(-min(batch_size, num_examples) // parts) * parts
    num_batches = -(-num_examples // batch_size)
    positions = np.arange(num_batches * batch_size, dtype=np.int32).reshape(num_batches, batch_size)
    valid = positions < num_examples
    return np.where(valid, positions, 0), valid


def take(data: T, indices: Int[Array | np.ndarray, "batch"]) -> T:
    """The examples at some indices: every array of `data` gathered along its first axis."""
    return jax.tree.map(lambda array: array[indices], data)


def _shuffled(
    places: Int[np.ndarray, "count"], num_examples: int, seed: int, epoch: int
) -> Int[np.ndarray, "count"]:
    if num_examples <= _TABLE:
        return _permutation(num_examples, seed, epoch)[places]
    # Too many to be written down: a permutation that is computed for each place. Four Feistel
    # rounds (Luby and Rackoff, 1988) permute the next power of four, and what falls outside is
    # permuted again (Black and Rogaway, 2002), which takes fewer than four turns on average.
    half = (int(num_examples - 1).bit_length() + 1) // 2
    keys = np.random.default_rng((seed, epoch)).integers(2**63, size=4, dtype=np.uint64)
    result, pending = places.astype(np.uint64), np.ones(len(places), bool)
    while pending.any():
        result[pending] = _feistel(result[pending], keys, half)
        pending = result >= num_examples
    return result.astype(np.int64)


def _feistel(
    x: UInt64[np.ndarray, "count"], keys: UInt64[np.ndarray, "rounds"], half: int
) -> UInt64[np.ndarray, "count"]:
    mask, bits = np.uint64(2**half - 1), np.uint64(half)
    left, right = x >> bits, x & mask
    for key in keys:
        mixed = (right ^ key) * np.uint64(0x9E3779B97F4A7C15)  # the golden ratio: all bits move
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        left, right = right, left ^ ((mixed >> np.uint64(32)) & mask)
    return (left << bits) | right


@lru_cache(maxsize=2)
def _permutation(num_examples: int, seed: int, epoch: int) -> Int[np.ndarray, "num_examples"]:
    return np.random.default_rng((seed, epoch)).permutation(num_examples)

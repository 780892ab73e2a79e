"""Random keys by purpose: one root key, a named stream for each use, folded by step.

A stream is a pure function of the root key and a name, so adding a new stream never changes the
numbers of an old one, and a resumed run draws what the uninterrupted run would have drawn.
"""

import zlib

import jax
from jaxtyping import Array, Int, Key


def root_key(seed: int) -> Key[Array, ""]:
    """The typed key that every other key of a run descends from, the same in every environment."""
    return jax.random.key(seed, impl="threefry2x32")


def stream(key: Key[Array, ""], name: str) -> Key[Array, ""]:
    """The key for one purpose, such as `"init"` or `"dropout"`.

    The name is hashed by CRC-32 and not by `hash`, which differs from process to process.
    """
    return jax.random.fold_in(key, zlib.crc32(name.encode()))


def step_key(key: Key[Array, ""], name: str, step: Int[Array, ""] | int) -> Key[Array, ""]:
    """The key for one purpose at one step."""
    return jax.random.fold_in(stream(key, name), step)

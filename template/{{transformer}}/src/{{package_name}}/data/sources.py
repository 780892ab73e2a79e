"""The data: a text as bytes, by default the documentation that comes with Python.

To train on your own text, pass any file: `--data.path book.txt`. For other tokens, change
`load_tokens` and `VOCAB_SIZE`; nothing else has to know.
"""

from pathlib import Path
from typing import Any, Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt8

from ..configs import DataConfig
from ..core.errors import UserError

VOCAB_SIZE = 256

_MOST_HELD_OUT = 2**24
"""Bytes that are held out of a text, if a tenth of it is more."""

Split = Literal["train", "test"]


class Batch(NamedTuple):
    """Some windows of text."""

    tokens: Int[Array, "batch time"]
    """What the model reads."""
    targets: Int[Array, "batch time"]
    """The token that comes next at each place."""
    weight: Float[Array, "batch time"]
    """How much each target counts; 0 where there is none."""


class Data(NamedTuple):
    """A whole text on the device, and the windows into it that are the examples."""

    tokens: UInt8[Array, "length"]
    starts: Int[Array, "examples"]
    weight: Float[Array, "examples"]
    """How much each window counts."""


def num_examples(data: Data) -> int:
    """Number of windows in a split."""
    return len(data.starts)


def take_batch(data: Data, indices: Int[Array, "batch"], config: DataConfig) -> Batch:
    """The windows at some indices, cut out on the device inside the compiled step."""
    positions = data.starts[indices][:, None] + jnp.arange(config.context + 1)[None]
    exists = positions < len(data.tokens)
    window = data.tokens[jnp.where(exists, positions, 0)].astype(jnp.int32)
    weight = jnp.where(exists[:, 1:], data.weight[indices][:, None], 0.0)
    return Batch(window[:, :-1], window[:, 1:], weight)


def load_tokens(path: Path | None) -> UInt8[np.ndarray, "length"]:
    """All tokens of a text, here its bytes.

    Raises:
        UserError: the file cannot be read.
    """
    if path is None:
        # Half a million characters about the language, under the PSF licence. The text differs a
        # little from one version of Python to another.
        from pydoc_data.topics import topics

        text = "\n\n".join(topics[name] for name in sorted(topics)).encode()
    else:
        try:
            if path.stat().st_size:
                # Only what is looked at is read: a text may be larger than memory.
                return np.memmap(path, np.uint8, "r")
            text = b""
        except OSError as error:
            raise UserError(
                f"data.path: cannot read {path.absolute()} ({error.strerror})"
            ) from None
    return np.frombuffer(text, np.uint8)


def load_split(config: DataConfig, split: Split) -> Data:
    """The text to train on, or its end, which no training step ever sees.

    In training a window may start at any byte. Evaluation cuts the text into windows side by side,
    so that each byte after the first is a target once.

    Raises:
        UserError: the text cannot be read or is too short.
    """
    tokens = _part(config, split)
    step, last = (config.context, 1) if split == "test" else (1, config.context)
    starts = np.arange(0, len(tokens) - last, step, dtype=np.int32)
    return Data(jnp.asarray(tokens), jnp.asarray(starts), jnp.ones(len(starts)))


class Windows:
    """All windows of a text, wherever they start, to be read in any order."""

    def __init__(self, tokens: UInt8[np.ndarray, "length"], context: int):
        """Hold the text; a memory map is read where it is looked at."""
        self._tokens, self._context = tokens, context

    def __len__(self) -> int:
        """Number of places where a window can start."""
        return len(self._tokens) - self._context

    def read(self, indices: Int[np.ndarray, "batch"]) -> Batch:
        """The windows that start at some places, on the host."""
        window = self._tokens[indices[:, None] + np.arange(self._context + 1)].astype(np.int32)
        weight = np.ones((len(indices), self._context), np.float32)
        host_arrays: Any = (window[:, :-1], window[:, 1:], weight)
        return Batch(*host_arrays)


def open_source(config: DataConfig, split: Split) -> Windows:
    """The windows of a text that is read while training: `loader.stream`.

    Raises:
        UserError: the text cannot be read or is too short.
    """
    return Windows(_part(config, split), config.context)


def _part(config: DataConfig, split: Split) -> UInt8[np.ndarray, "length"]:
    tokens = load_tokens(config.path)
    held_out = min(len(tokens) // 10, _MOST_HELD_OUT)
    if held_out < config.context + 1:
        raise UserError(
            f"data.context: the held-out tenth of the text has {held_out} bytes, and a window "
            f"needs {config.context + 1}; use a longer text or a shorter context"
        )
    return tokens[-held_out:] if split == "test" else tokens[:-held_out]

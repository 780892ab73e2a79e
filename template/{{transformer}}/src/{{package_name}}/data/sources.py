"""The data: a text as bytes, by default the documentation that comes with Python.

To train on your own text, pass any file: `--data.path book.txt`. For other tokens, change
`load_tokens` and `VOCAB_SIZE`; nothing else has to know.
"""

from pathlib import Path
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt8

from ..configs import DataConfig
from ..core.errors import UserError

VOCAB_SIZE = 256

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
            text = path.read_bytes()
        except OSError as error:
            raise UserError(f"data.path: cannot read {path} ({error.strerror})") from None
    return np.frombuffer(text, np.uint8)


def load_split(config: DataConfig, split: Split) -> Data:
    """The text to train on, or its last tenth, which no training step ever sees.

    In training a window may start at any byte. Evaluation cuts the text into windows side by side,
    so that each byte after the first is a target once.

    Raises:
        UserError: the text cannot be read or is too short.
    """
    tokens = load_tokens(config.path)
    held_out = len(tokens) // 10
    if held_out < config.context + 1:
        raise UserError(
            f"data.context: the held-out tenth of the text has {held_out} bytes, and a window "
            f"needs {config.context + 1}; use a longer text or a shorter context"
        )
    if split == "test":
        tokens = tokens[-held_out:]
        starts = np.arange(0, len(tokens) - 1, config.context, dtype=np.int32)
    else:
        tokens = tokens[:-held_out]
        starts = np.arange(len(tokens) - config.context, dtype=np.int32)
    return Data(jnp.asarray(tokens), jnp.asarray(starts), jnp.ones(len(starts)))

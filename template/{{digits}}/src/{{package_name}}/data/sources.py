"""The data: handwritten digits that ship with scikit-learn.

To train on your own images, change `load_examples`, `IMAGE_SHAPE` and `NUM_CLASSES`: return float
images of that shape and labels from 0 to below that number.
"""

from functools import cache
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..configs import DataConfig
from ..core.errors import UserError
from .pipeline import take

NUM_CLASSES = 10
IMAGE_SHAPE = (8, 8, 1)
"""Height, width and channels."""

Split = Literal["train", "test"]


class Batch(NamedTuple):
    """Some examples."""

    images: Float[Array, "batch height width channels"]
    """Brightness of each pixel, from 0 to 1."""
    labels: Int[Array, "batch"]
    """Class of each image."""
    weight: Float[Array, "batch"]
    """How much each example counts; 0 for padding."""


Data = Batch
"""All examples of a split, on the device; they are few enough."""


def num_examples(data: Data) -> int:
    """Number of examples in a split."""
    return len(data.labels)


def take_batch(data: Data, indices: Int[Array, "batch"], config: DataConfig) -> Batch:
    """The examples at some indices, gathered on the device inside the compiled step."""
    del config
    return take(data, indices)


@cache
def load_examples() -> tuple[
    Float[np.ndarray, "examples height width channels"], Int[np.ndarray, "examples"]
]:
    """All images and labels, in a fixed order.

    1797 images of 8 x 8 pixels (Alpaydin and Kaynak, 1998), brightness scaled to 0..1.
    """
    from sklearn.datasets import load_digits  # slow to import, and only needed here

    pixels, labels = load_digits(return_X_y=True)
    images = np.asarray(pixels, np.float32).reshape(-1, *IMAGE_SHAPE) / 16.0
    return images, np.asarray(labels, np.int32)


def check_examples(images: np.ndarray, labels: np.ndarray) -> None:
    """Refuse examples that would be trained on wrongly.

    Raises:
        UserError: shapes, numbers or labels are not what they must be.
    """
    if len(images) != len(labels) or len(images) < 5:
        raise UserError(f"data: {len(images)} images and {len(labels)} labels; at least 5 of each")
    if images.shape[1:] != IMAGE_SHAPE:
        raise UserError(f"data: images have shape {images.shape[1:]}, not {IMAGE_SHAPE}")
    if images.dtype != np.float32 or not np.isfinite(images).all():
        raise UserError(f"data: images must be finite float32 numbers, got {images.dtype}")
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        raise UserError(f"data: labels must be a list of integers, got {labels.dtype}")
    wrong = np.flatnonzero((labels < 0) | (labels >= NUM_CLASSES))
    if len(wrong):
        raise UserError(
            f"data: example {wrong[0]} has label {labels[wrong[0]]}, outside 0..{NUM_CLASSES - 1}"
        )


def load_split(config: DataConfig, split: Split) -> Data:
    """The examples to train on, or the held-out fifth that no training step ever sees.

    The split is the same in every run, whatever its seed, so results can be compared.

    Raises:
        UserError: the examples cannot be used.
    """
    return jax.tree.map(jnp.asarray, open_source(config, split).examples)


class Digits:
    """Examples of a split, to be read in any order.

    Images that are too many for a device, or for memory, are read here: let `__len__` count them,
    and `read` open and decode those that are asked for.
    """

    def __init__(self, examples: Batch):
        """Hold the examples, here in memory."""
        self.examples = examples

    def __len__(self) -> int:
        """Number of examples."""
        return len(self.examples.labels)

    def read(self, indices: Int[np.ndarray, "batch"]) -> Batch:
        """Some of them, on the host."""
        return take(self.examples, indices)


def open_source(config: DataConfig, split: Split) -> Digits:
    """The same examples, read while training: `loader.stream`.

    Raises:
        UserError: the examples cannot be used.
    """
    del config
    images, labels = load_examples()
    check_examples(images, labels)
    order = np.random.default_rng(0).permutation(len(images))
    held_out = len(images) // 5
    rows = order[:held_out] if split == "test" else order[held_out:]
    host_arrays: Any = (images[rows], labels[rows], np.ones(len(rows), np.float32))
    return Digits(Batch(*host_arrays))

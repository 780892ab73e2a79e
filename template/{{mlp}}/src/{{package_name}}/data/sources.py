"""The data: handwritten digits that ship with scikit-learn.

To train on your own images, change `load_examples`: return float images, one row each, and integer
labels. Nothing else has to know.
"""

from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

NUM_CLASSES = 10
IMAGE_SHAPE = (8, 8)

Split = Literal["train", "test"]


class Batch(NamedTuple):
    """Some examples; a whole data set is a batch too."""

    images: Float[Array, "batch pixels"]
    """Brightness of each pixel, from 0 to 1."""
    labels: Int[Array, "batch"]
    """Class of each image."""
    weight: Float[Array, "batch"]
    """How much each example counts; 0 for padding."""


def load_examples() -> tuple[Float[np.ndarray, "examples pixels"], Int[np.ndarray, "examples"]]:
    """All images and labels, in a fixed order.

    1797 images of 8 x 8 pixels (Alpaydin and Kaynak, 1998), brightness scaled to 0..1.
    """
    from sklearn.datasets import load_digits  # slow to import, and only needed here

    images, labels = load_digits(return_X_y=True)
    return np.asarray(images, np.float32) / 16.0, np.asarray(labels, np.int32)


def load_split(split: Split) -> Batch:
    """The examples to train on, or the held-out fifth that no training step ever sees.

    They are small enough to stay on the device as a whole.

    The split is the same in every run, whatever its seed, so results can be compared.
    """
    images, labels = load_examples()
    order = np.random.default_rng(0).permutation(len(images))
    held_out = len(images) // 5
    rows = order[:held_out] if split == "test" else order[held_out:]
    return Batch(jnp.asarray(images[rows]), jnp.asarray(labels[rows]), jnp.ones(len(rows)))

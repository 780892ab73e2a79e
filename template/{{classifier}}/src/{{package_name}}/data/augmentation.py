"""Random changes to training images that keep their meaning.

Pure functions of a key and a batch of images; each image draws its own noise. They run on the
device, inside the compiled step, and are off where there is no key.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from ..configs import DataConfig
from ..core.keys import stream

Images = Float[Array, "batch height width channels"]


def augment(images: Images, config: DataConfig, key: Key[Array, ""] | None) -> Images:
    """The augmentations that the config asks for; what is 0 or False costs nothing."""
    if key is None:
        return images
    if config.max_shift:
        images = random_shift(images, config.max_shift, stream(key, "shift"))
    if config.cutout:
        images = random_cutout(images, config.cutout, stream(key, "cutout"))
    if config.flip:
        images = random_flip(images, stream(key, "flip"))
    return images


def random_shift(images: Images, max_shift: int, key: Key[Array, ""]) -> Images:
    """Move each image by up to `max_shift` pixels along both axes; zeros come in at the border."""
    batch, height, width, channels = images.shape
    margin = ((0, 0), (max_shift, max_shift), (max_shift, max_shift), (0, 0))
    starts = jax.random.randint(key, (batch, 2), 0, 2 * max_shift + 1)

    def crop(image: Array, start: Array) -> Array:
        return jax.lax.dynamic_slice(image, (start[0], start[1], 0), (height, width, channels))

    return jax.vmap(crop)(jnp.pad(images, margin), starts)


def random_cutout(images: Images, size: int, key: Key[Array, ""]) -> Images:
    """Blank a square of side `size` in each image (DeVries and Taylor, 2017).

    The square lies inside the image, so each image loses the same area.
    """
    batch, height, width, _ = images.shape
    size = min(size, height, width)
    row_key, column_key = jax.random.split(key)
    top = jax.random.randint(row_key, (batch, 1), 0, height - size + 1)
    left = jax.random.randint(column_key, (batch, 1), 0, width - size + 1)
    rows, columns = jnp.arange(height)[None], jnp.arange(width)[None]
    in_rows = (rows >= top) & (rows < top + size)
    in_columns = (columns >= left) & (columns < left + size)
    square = in_rows[:, :, None, None] & in_columns[:, None, :, None]
    return jnp.where(square, 0.0, images)


def random_flip(images: Images, key: Key[Array, ""]) -> Images:
    """Mirror each image left to right with probability one half."""
    flipped = jax.random.bernoulli(key, 0.5, (len(images), 1, 1, 1))
    return jnp.where(flipped, images[:, :, ::-1], images)

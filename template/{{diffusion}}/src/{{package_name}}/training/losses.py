"""The loss of flow matching and what is measured with it."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree, ScalarLike

from ..configs import TrainConfig
from ..core.sharding import divide_batch
from ..data.sources import Batch
from ..modeling.flow import Points, Times, from_images, path_velocity, point_on_path
from ..modeling.model import NULL_CLASS, apply_model
from .metrics import Mean, weighted_mean

_EVALUATION_DRAWS = 8
"""Noises and times at which evaluation looks at each example."""


def drop_labels(
    labels: Int[Array, "batch"], rate: ScalarLike, key: Key[Array, ""] | None
) -> Int[Array, "batch"]:
    """Replace each label by the null class with probability `rate`; without a key none.

    So one network learns the velocity with and without the class (Ho and Salimans, 2022).
    """
    if key is None:
        return labels
    return jnp.where(jax.random.bernoulli(key, rate, labels.shape), NULL_CLASS, labels)


def random_draws(images: Points, key: Key[Array, ""]) -> tuple[Points, Times]:
    """Noise for each image, and times from 0 to 1, one in each of as many equal parts.

    Times that are spread evenly over the batch give a gradient of less variance than independent
    ones, and the same mean (Kingma et al., 2021).
    """
    noise_key, time_key = jax.random.split(key)
    batch = len(images)
    times = (jnp.arange(batch) + jax.random.uniform(time_key, (batch,))) / batch
    return jax.random.normal(noise_key, images.shape), times


def fixed_draws(
    images: Points, draws: int
) -> tuple[Float[Array, "batch draws height width channels"], Float[Array, "batch draws"]]:
    """Noises and evenly spread times that are a function of each image alone.

    An image has the same ones in every evaluation, whatever batch it stands in, so evaluations can
    be compared and do not depend on the batch size.
    """
    marks = fingerprint(images)
    keys = jax.vmap(jax.random.fold_in, in_axes=(None, 0))(jax.random.key(0), marks)
    noise = jax.vmap(lambda key: jax.random.normal(key, (draws, *images.shape[1:])))(keys)
    # The mark is as good as random, and one more draw would take seconds to compile.
    offsets = marks.astype(jnp.float32) / 2.0**32
    return noise, (jnp.arange(draws)[None, :] + offsets[:, None]) / draws


def fingerprint(images: Points) -> Array:
    """A 32-bit number for each image, made of the bits of its pixels."""
    bits = jax.lax.bitcast_convert_type(images.astype(jnp.float32), jnp.uint32)
    bits = bits.reshape(len(images), -1)
    odd = 2 * jnp.arange(bits.shape[1], dtype=jnp.uint32) + 1
    mixed = (bits ^ (bits >> 16)) * (odd * jnp.uint32(0x9E3779B1))[None, :]
    return (mixed ^ (mixed >> 15)).sum(axis=1, dtype=jnp.uint32)


def objective(
    params: PyTree,
    model_state: PyTree,
    batch: Batch,
    config: TrainConfig,
    key: Key[Array, ""] | None = None,
) -> tuple[Mean, tuple[dict[str, Mean], PyTree]]:
    """What training minimises, and what evaluation reports.

    The loss of an example is the squared error of the velocity, averaged over pixels. It does not
    go to zero: where paths of several images cross, no network can tell which one a point is on.

    Args:
        params: parameters of the model.
        model_state: what the model carries beside its parameters.
        batch: examples; those of weight 0 count nowhere.
        config: the run's config.
        key: noise of this step: times, noise, hidden labels, dropout. Without a key times and noise
            are those of `fixed_draws`, no label is hidden and the model is in inference mode.

    Returns:
        The loss to minimise, and `(metrics, model_state)`.
    """
    images, labels = from_images(batch.images), batch.labels
    if key is None:
        draws, label_key, model_key = _EVALUATION_DRAWS, None, None
        noise, times = fixed_draws(batch.images, draws)
        noise, times = noise.reshape(-1, *images.shape[1:]), times.reshape(-1)
        images, labels = jnp.repeat(images, draws, axis=0), jnp.repeat(labels, draws)
        # Left to itself, XLA divides the draws otherwise than their images, and exchanges between.
        noise, times, images, labels = divide_batch((noise, times, images, labels))
    else:
        draws = 1
        draw_key, label_key, model_key = jax.random.split(key, 3)
        noise, times = random_draws(images, draw_key)

    labels = drop_labels(labels, config.loss.label_dropout, label_key)
    x = point_on_path(noise, images, times)
    predicted, model_state = apply_model(
        params, model_state, x, times, labels, config.model, model_key
    )
    errors = (predicted - path_velocity(noise, images)) ** 2
    per_example = errors.reshape(len(batch.images), draws, -1).mean(axis=(1, 2))
    loss = weighted_mean(per_example, batch.weight)
    return loss, ({"loss": loss}, model_state)

"""Images from noise: the whole of sampling in one compiled program."""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree, ScalarLike

from ..configs import ModelConfig
from ..data.sources import IMAGE_SHAPE
from .flow import Points, Times, guide, integrate, to_images
from .model import NULL_CLASS, apply_model


@partial(jax.jit, static_argnames="num_steps")
def sample_images(
    params: PyTree,
    model_state: PyTree,
    labels: Int[Array, "batch"],
    key: Key[Array, ""],
    config: ModelConfig,
    *,
    guidance: ScalarLike,
    num_steps: int,
) -> Float[Array, "batch height width channels"]:
    """One image for each label, brightness 0..1.

    Args:
        params: parameters of the model; of a run, `state.eval_params`.
        model_state: what the model carries beside its parameters.
        labels: class of each image; `NULL_CLASS` for any.
        key: decides the noise that the images begin as.
        config: the config that the model was built from.
        guidance: weight of the class, as in `flow.guide`; a new value does not compile again.
        num_steps: steps from noise to image.
    """
    noise = jax.random.normal(key, (len(labels), *IMAGE_SHAPE))
    return images_from_noise(
        params, model_state, noise, labels, config, guidance=guidance, num_steps=num_steps
    )


def images_from_noise(
    params: PyTree,
    model_state: PyTree,
    noise: Points,
    labels: Int[Array, "batch"],
    config: ModelConfig,
    *,
    guidance: ScalarLike,
    num_steps: int,
) -> Float[Array, "batch height width channels"]:
    """What `sample_images` does once the noise is drawn: a function without any chance."""
    both = jnp.concatenate([labels, jnp.full_like(labels, NULL_CLASS)])

    def velocity(x: Points, times: Times) -> Points:
        # With the class and without it, side by side in one batch.
        twice, times_twice = jnp.concatenate([x, x]), jnp.concatenate([times, times])
        v, _ = apply_model(params, model_state, twice, times_twice, both, config)
        conditional, unconditional = jnp.split(v, 2)
        return guide(conditional, unconditional, guidance)

    return to_images(integrate(velocity, noise, num_steps))

"""The model of this project: a multilayer perceptron that classifies images."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree, ScalarLike

from ..configs import ModelConfig
from ..data.sources import IMAGE_SHAPE, NUM_CLASSES
from .modules import assemble, cast_floats, dropout, init_params

TENSOR_AXES = {"weight": -2}
"""The axis of each large array that `mesh.tensor` divides: the outputs of a layer."""


class MLP(eqx.Module):
    """Linear layers with a GELU between them."""

    layers: tuple[eqx.nn.Linear, ...]

    def __init__(
        self, in_size: int, hidden_sizes: tuple[int, ...], out_size: int, key: Key[Array, ""]
    ):
        sizes = (in_size, *hidden_sizes, out_size)
        keys = jax.random.split(key, len(sizes) - 1)
        self.layers = tuple(
            eqx.nn.Linear(fan_in, fan_out, key=k)
            for fan_in, fan_out, k in zip(sizes[:-1], sizes[1:], keys, strict=True)
        )

    def __call__(
        self,
        x: Float[Array, "batch in_size"],
        dropout_rate: ScalarLike | None = None,
        key: Key[Array, ""] | None = None,
    ) -> Float[Array, "batch out_size"]:
        """Logits of a batch; dropout after each hidden layer where a key is given."""
        *hidden, last = self.layers
        keys = [None] * len(hidden) if key is None else jax.random.split(key, len(hidden))
        for layer, layer_key in zip(hidden, keys, strict=True):
            x = dropout(jax.nn.gelu(jax.vmap(layer)(x)), dropout_rate, layer_key)
        return jax.vmap(last)(x)


def build_model(config: ModelConfig, key: Key[Array, ""]) -> MLP:
    """A freshly initialised model.

    Give modules the static fields of the config. A float that may change from run to run, such as
    a dropout rate, goes to the call instead: stored in the module it would become a parameter.
    """
    return MLP(math.prod(IMAGE_SHAPE), config.hidden_sizes, NUM_CLASSES, key)


def init_model(config: ModelConfig, key: Key[Array, ""]) -> tuple[PyTree, PyTree]:
    """Initial parameters, and the state that the model carries beside them (none here)."""
    return init_params(build_model, config, key), None


def apply_model(
    params: PyTree,
    model_state: PyTree,
    images: Float[Array, "batch height width channels"],
    config: ModelConfig,
    key: Key[Array, ""] | None = None,
    weight: Float[Array, "batch"] | None = None,
) -> tuple[Float[Array, "batch classes"], PyTree]:
    """Logits of some images, in float32, and the model's state after them.

    Args:
        params: what `init_model` returned, or training made of it.
        model_state: likewise.
        images: a batch of images.
        config: the config that the model was built from.
        key: noise for dropout; without it the model is in inference mode.
        weight: how much each image counts. Here no image has a part in what another one gives.
    """
    del weight
    # Parameters stay in float32; only the arithmetic is in the other precision.
    params, images = cast_floats((params, images), config.compute_dtype)
    model = assemble(params, build_model, config)
    logits = model(images.reshape(images.shape[0], -1), config.dropout, key)
    return logits.astype(jnp.float32), model_state

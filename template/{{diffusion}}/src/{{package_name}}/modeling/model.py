"""The model of this project: a network that predicts the velocity of an image on its way.

It is told the time and the class, by adaptive layer normalisation as in the DiT of Peebles and Xie
(2023), with residual blocks of dense layers in place of attention.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree, ScalarLike

from ..configs import ModelConfig
from ..data.sources import IMAGE_SHAPE, NUM_CLASSES
from .embeddings import ClassEmbedding, TimeEmbedding
from .modules import assemble, cast_floats, dropout, init_params

NULL_CLASS = NUM_CLASSES
"""The label that stands for "no class given"."""

TENSOR_AXES = {"up.weight": -2, "down.weight": -1}
"""The axis of each large array that `mesh.tensor` divides. Of two matrices in a row the first is
divided by its outputs and the second by its inputs, so that nothing is exchanged between them."""


def zeros_linear(in_size: int, out_size: int) -> eqx.nn.Linear:
    """A linear layer that begins at zero, so that what it is added to begins unchanged."""
    layer = eqx.nn.Linear(in_size, out_size, key=jax.random.key(0))
    return jax.tree.map(jnp.zeros_like, layer)


class Modulation(eqx.Module):
    """Shifts, scales or gates that the condition decides; all zero in the beginning."""

    linear: eqx.nn.Linear
    parts: int = eqx.field(static=True)

    def __init__(self, size: int, parts: int):
        self.linear = zeros_linear(size, parts * size)
        self.parts = parts

    def __call__(self, condition: Float[Array, "batch size"]) -> list[Float[Array, "batch size"]]:
        """`parts` arrays of the size of the condition."""
        return jnp.split(jax.vmap(self.linear)(jax.nn.silu(condition)), self.parts, axis=-1)


class Block(eqx.Module):
    """A residual block of two dense layers, the identity in the beginning (adaLN-Zero)."""

    norm: eqx.nn.LayerNorm
    modulation: Modulation
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, size: int, expansion: int, key: Key[Array, ""]):
        up_key, down_key = jax.random.split(key)
        self.norm = eqx.nn.LayerNorm(size, use_weight=False, use_bias=False)
        self.modulation = Modulation(size, parts=3)
        self.up = eqx.nn.Linear(size, expansion * size, key=up_key)
        self.down = eqx.nn.Linear(expansion * size, size, key=down_key)

    def __call__(
        self,
        x: Float[Array, "batch size"],
        condition: Float[Array, "batch size"],
        dropout_rate: ScalarLike | None,
        key: Key[Array, ""] | None,
    ) -> Float[Array, "batch size"]:
        """The hidden state after this block."""
        shift, scale, gate = self.modulation(condition)
        y = jax.vmap(self.norm)(x) * (1.0 + scale) + shift
        y = dropout(jax.nn.gelu(jax.vmap(self.up)(y)), dropout_rate, key)
        return x + gate * jax.vmap(self.down)(y)


class VelocityNet(eqx.Module):
    """Velocity of flat images, given how far each has come and which class it is to show."""

    time: TimeEmbedding
    label: ClassEmbedding
    enter: eqx.nn.Linear
    blocks: tuple[Block, ...]
    norm: eqx.nn.LayerNorm
    modulation: Modulation
    leave: eqx.nn.Linear

    def __init__(self, image_size: int, num_classes: int, config: ModelConfig, key: Key[Array, ""]):
        time_key, label_key, enter_key, *block_keys = jax.random.split(key, 3 + config.depth)
        self.time = TimeEmbedding(config.width, time_key)
        self.label = ClassEmbedding(num_classes, config.width, label_key)
        self.enter = eqx.nn.Linear(image_size, config.width, key=enter_key)
        self.blocks = tuple(Block(config.width, config.expansion, k) for k in block_keys)
        self.norm = eqx.nn.LayerNorm(config.width, use_weight=False, use_bias=False)
        self.modulation = Modulation(config.width, parts=2)
        self.leave = zeros_linear(config.width, image_size)

    def __call__(
        self,
        x: Float[Array, "batch image_size"],
        times: Float[Array, "batch"],
        labels: Int[Array, "batch"],
        dropout_rate: ScalarLike | None = None,
        key: Key[Array, ""] | None = None,
    ) -> Float[Array, "batch image_size"]:
        """Velocities of a batch; dropout inside each block where a key is given."""
        condition = self.time(times) + self.label(labels)
        keys = [None] * len(self.blocks) if key is None else jax.random.split(key, len(self.blocks))
        x = jax.vmap(self.enter)(x)
        for block, block_key in zip(self.blocks, keys, strict=True):
            x = block(x, condition, dropout_rate, block_key)
        shift, scale = self.modulation(condition)
        return jax.vmap(self.leave)(jax.vmap(self.norm)(x) * (1.0 + scale) + shift)


def build_model(config: ModelConfig, key: Key[Array, ""]) -> VelocityNet:
    """A freshly initialised model.

    Give modules the static fields of the config. A float that may change from run to run, such as
    a dropout rate, goes to the call instead: stored in the module it would become a parameter.
    """
    return VelocityNet(math.prod(IMAGE_SHAPE), NUM_CLASSES, config, key)


def init_model(config: ModelConfig, key: Key[Array, ""]) -> tuple[PyTree, PyTree]:
    """Initial parameters, and the state that the model carries beside them (none here)."""
    return init_params(build_model, config, key), None


def apply_model(
    params: PyTree,
    model_state: PyTree,
    x: Float[Array, "batch height width channels"],
    times: Float[Array, "batch"],
    labels: Int[Array, "batch"],
    config: ModelConfig,
    key: Key[Array, ""] | None = None,
) -> tuple[Float[Array, "batch height width channels"], PyTree]:
    """Velocity of some points on their paths, in float32, and the model's state after them.

    Args:
        params: what `init_model` returned, or training made of it.
        model_state: likewise.
        x: points between noise and image, in the scale of `flow.from_images`.
        times: how far each has come, from 0 (noise) to 1 (image).
        labels: class that each is to show, or `NULL_CLASS`.
        config: the config that the model was built from.
        key: noise for dropout; without it the model is in inference mode.
    """
    # Parameters and times stay in float32; only the arithmetic is in the other precision.
    params, flat = cast_floats((params, x.reshape(x.shape[0], -1)), config.compute_dtype)
    model = assemble(params, build_model, config)
    velocity = model(flat, times, labels, config.dropout, key)
    return velocity.astype(jnp.float32).reshape(x.shape), model_state

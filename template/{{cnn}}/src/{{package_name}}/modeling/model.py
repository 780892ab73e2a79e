"""The model of this project: a residual convolutional network that classifies images."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree, ScalarLike

from ..configs import ModelConfig
from ..data.sources import IMAGE_SHAPE, NUM_CLASSES
from .convolution import Conv, max_pool
from .modules import assemble, cast_floats, dropout, init_params
from .normalization import BatchNorm, NormState, NormUpdate

Features = Float[Array, "batch height width channels"]

TENSOR_AXES = {"kernel": -1, "head.weight": -2}
"""The axis of each large array that `mesh.tensor` divides: the outputs of a layer."""


class ResidualBlock(eqx.Module):
    """Two convolutions whose result is added to their input (He et al., 2016, "Identity mappings").

    GELU in the place of their ReLU: it is smooth, so derivatives through several steps of training
    agree with finite differences.
    """

    norm1: BatchNorm
    conv1: Conv
    norm2: BatchNorm
    conv2: Conv

    def __init__(self, width: int, key: Key[Array, ""]):
        key1, key2 = jax.random.split(key)
        self.norm1, self.conv1 = BatchNorm(width), Conv(3, width, width, key1)
        self.norm2, self.conv2 = BatchNorm(width), Conv(3, width, width, key2)

    def init_state(self) -> tuple[NormState, NormState]:
        """Running statistics of the two norms."""
        return self.norm1.init_state(), self.norm2.init_state()

    def __call__(
        self, x: Features, state: tuple[NormState, NormState], update: NormUpdate | None
    ) -> tuple[Features, tuple[NormState, NormState]]:
        """The features after the block, and its running statistics."""
        change, state1 = self.norm1(x, state[0], update)
        change = self.conv1(jax.nn.gelu(change))
        change, state2 = self.norm2(change, state[1], update)
        change = self.conv2(jax.nn.gelu(change))
        return x + change, (state1, state2)


class Stage(eqx.Module):
    """A convolution to the width of the stage, then residual blocks at that width."""

    entry: Conv
    blocks: tuple[ResidualBlock, ...]

    def __init__(self, in_channels: int, width: int, num_blocks: int, key: Key[Array, ""]):
        entry_key, *block_keys = jax.random.split(key, num_blocks + 1)
        self.entry = Conv(3, in_channels, width, entry_key)
        self.blocks = tuple(ResidualBlock(width, k) for k in block_keys)

    def init_state(self) -> tuple[PyTree, ...]:
        """Running statistics of each block."""
        return tuple(block.init_state() for block in self.blocks)

    def __call__(
        self,
        x: Float[Array, "batch height width in_channels"],
        state: tuple[PyTree, ...],
        update: NormUpdate | None,
    ) -> tuple[Float[Array, "batch height width out_channels"], tuple[PyTree, ...]]:
        """The features after the stage, and the running statistics of its blocks."""
        x, new_state = self.entry(x), []
        for block, block_state in zip(self.blocks, state, strict=True):
            x, block_state = block(x, block_state, update)
            new_state.append(block_state)
        return x, tuple(new_state)


class ConvNet(eqx.Module):
    """Stages with pooling between them, the mean over all pixels, and a linear head."""

    stages: tuple[Stage, ...]
    norm: BatchNorm
    head: eqx.nn.Linear

    def __init__(
        self,
        in_channels: int,
        widths: tuple[int, ...],
        num_blocks: int,
        out_size: int,
        key: Key[Array, ""],
    ):
        head_key, *stage_keys = jax.random.split(key, len(widths) + 1)
        channels = (in_channels, *widths)
        self.stages = tuple(
            Stage(before, width, num_blocks, k)
            for before, width, k in zip(channels[:-1], widths, stage_keys, strict=True)
        )
        self.norm = BatchNorm(widths[-1])
        self.head = eqx.nn.Linear(widths[-1], out_size, key=head_key)

    def init_state(self) -> tuple[PyTree, NormState]:
        """Running statistics of all norms, before the first step."""
        return tuple(stage.init_state() for stage in self.stages), self.norm.init_state()

    def __call__(
        self,
        x: Features,
        state: tuple[PyTree, NormState],
        update: NormUpdate | None = None,
        dropout_rate: ScalarLike | None = None,
        key: Key[Array, ""] | None = None,
    ) -> tuple[Float[Array, "batch out_size"], tuple[PyTree, NormState]]:
        """Logits of a batch, and the running statistics after it.

        Args:
            x: images.
            state: running statistics.
            update: of the running statistics in training; without it they are used as they are.
            dropout_rate: of the features before the head.
            key: noise for dropout; without it nothing is dropped.
        """
        stages_state, norm_state = state
        new_state = []
        for index, (stage, stage_state) in enumerate(zip(self.stages, stages_state, strict=True)):
            x = max_pool(x) if index > 0 else x
            x, stage_state = stage(x, stage_state, update)
            new_state.append(stage_state)
        x, norm_state = self.norm(x, norm_state, update)
        features = jax.nn.gelu(x).mean(axis=(1, 2))
        logits = jax.vmap(self.head)(dropout(features, dropout_rate, key))
        return logits, (tuple(new_state), norm_state)


def build_model(config: ModelConfig, key: Key[Array, ""]) -> ConvNet:
    """A freshly initialised model.

    Give modules the static fields of the config. A float that may change from run to run, such as
    a dropout rate, goes to the call instead: stored in the module it would become a parameter.
    """
    return ConvNet(IMAGE_SHAPE[-1], config.widths, config.blocks, NUM_CLASSES, key)


def init_model(config: ModelConfig, key: Key[Array, ""]) -> tuple[PyTree, PyTree]:
    """Initial parameters, and the running statistics that the model carries beside them."""
    params = init_params(build_model, config, key)
    return params, assemble(params, build_model, config).init_state()


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
        key: noise for dropout, given in training only. Without it the model is in inference mode:
            it normalises with its running statistics, which stay as they are.
        weight: how much each image counts in the statistics of a training batch; alike if not
            given.
    """
    # Parameters and statistics stay in float32; only the arithmetic is in the other precision.
    params, images = cast_floats((params, images), config.compute_dtype)
    update = None
    if key is not None:
        weight = jnp.ones(len(images)) if weight is None else weight
        update = NormUpdate(config.norm_momentum, weight)
    model = assemble(params, build_model, config)
    logits, model_state = model(images, model_state, update, config.dropout, key)
    return logits.astype(jnp.float32), model_state

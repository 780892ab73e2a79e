"""The model of this project: a decoder-only transformer that predicts the next byte."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PyTree, ScalarLike

from ..configs import ModelConfig
from ..data.sources import VOCAB_SIZE
from .attention import Attention, KVCache, causal_mask
from .embeddings import TokenEmbedding
from .layers import GatedMLP, Linear, RMSNorm
from .modules import assemble, dropout, init_params

MaybeKey = Key[Array, ""] | None
Caches = Sequence[KVCache] | KVCache
"""One cache a layer: a sequence, or stacked in one."""

TENSOR_AXES = {
    "query_key_value.weight": -2,
    "out.weight": -1,
    "gate_up.weight": -2,
    "down.weight": -1,
    "head.weight": -2,
}
"""The axis of each large array that `mesh.tensor` divides. Of two matrices in a row the first is
divided by its outputs and the second by its inputs (Shoeybi et al., 2019)."""


class Block(eqx.Module):
    """Attention and a gated MLP, each on a normalised copy of the residual stream."""

    attention_norm: RMSNorm
    attention: Attention
    mlp_norm: RMSNorm
    mlp: GatedMLP

    def __init__(self, config: ModelConfig, key: Key[Array, ""]):
        """One layer; outputs start smaller the more layers add up (Radford et al., 2019)."""
        attention_key, mlp_key = jax.random.split(key)
        out_scale = 1.0 / (2 * config.num_layers) ** 0.5
        self.attention_norm = RMSNorm(config.width)
        self.attention = Attention(
            config.width, config.num_heads, config.num_kv_heads, out_scale, attention_key
        )
        self.mlp_norm = RMSNorm(config.width)
        self.mlp = GatedMLP(config.width, config.mlp_width, out_scale, mlp_key)

    def __call__(
        self,
        x: Float[Array, "batch time width"],
        positions: Int[Array, "batch time"],
        mask: Bool[Array, "#batch time slots"],
        dropout_rate: ScalarLike | None = None,
        key: MaybeKey = None,
        cache: KVCache | None = None,
    ) -> tuple[Float[Array, "batch time width"], KVCache | None]:
        """The residual stream after this layer, and the layer's cache."""
        keys = (None, None) if key is None else tuple(jax.random.split(key))
        mixed, cache = self.attention(self.attention_norm(x), positions, mask, cache)
        x = x + dropout(mixed, dropout_rate, keys[0])
        x = x + dropout(self.mlp(self.mlp_norm(x)), dropout_rate, keys[1])
        return x, cache


class Transformer(eqx.Module):
    """Embedding, blocks, norm, and a matrix to logits."""

    embedding: TokenEmbedding
    blocks: tuple[Block, ...] | Block
    norm: RMSNorm
    head: Linear

    def __init__(self, config: ModelConfig, key: Key[Array, ""]):
        """Blocks are a tuple, or one block of stacked parameters with `stacked`."""
        embedding_key, blocks_key, head_key = jax.random.split(key, 3)
        keys = jax.random.split(blocks_key, config.num_layers)
        self.embedding = TokenEmbedding(VOCAB_SIZE, config.width, embedding_key)
        if config.stacked:
            self.blocks = eqx.filter_vmap(lambda k: Block(config, k))(keys)
        else:
            self.blocks = tuple(Block(config, k) for k in keys)
        self.norm = RMSNorm(config.width)
        # Small, so that training starts from a guess that takes no byte for certain.
        self.head = Linear(config.width, VOCAB_SIZE, 0.1, head_key)


def build_model(config: ModelConfig, key: Key[Array, ""]) -> Transformer:
    """A freshly initialised model.

    Give modules the static fields of the config. A float that may change from run to run, such as
    a dropout rate, goes to the call instead: stored in the module it would become a parameter.
    """
    return Transformer(config, key)


def init_model(config: ModelConfig, key: Key[Array, ""]) -> tuple[PyTree, PyTree]:
    """Initial parameters, and the state that the model carries beside them (none here)."""
    return init_params(build_model, config, key), None


def apply_model(
    params: PyTree,
    model_state: PyTree,
    tokens: Int[Array, "batch time"],
    config: ModelConfig,
    key: Key[Array, ""] | None = None,
    valid: Bool[Array, "batch time"] | None = None,
) -> tuple[Float[Array, "batch time vocab"], PyTree]:
    """Logits of the next token at each place, and the model's state after them.

    Args:
        params: what `init_model` returned, or training made of it.
        model_state: likewise.
        tokens: windows of text.
        config: the config that the model was built from.
        key: noise for dropout; without it the model is in inference mode.
        valid: False where a token is padding, which no token looks at and no position counts. The
            logits there mean nothing: give their targets no weight. Padding on the right needs no
            `valid`, because no token looks ahead.
    """
    return to_logits(params, apply_blocks(params, tokens, config, key, valid), config), model_state


def apply_blocks(
    params: PyTree,
    tokens: Int[Array, "batch time"],
    config: ModelConfig,
    key: Key[Array, ""] | None = None,
    valid: Bool[Array, "batch time"] | None = None,
) -> Float[Array, "batch time width"]:
    """What `to_logits` makes logits of; arguments as of `apply_model`."""
    places = jnp.arange(tokens.shape[1])
    mask, positions = causal_mask(places[None], places), jnp.broadcast_to(places, tokens.shape)
    if valid is not None:
        mask &= valid[:, None, :]
        positions = jnp.maximum(jnp.cumsum(valid, axis=1) - 1, 0)
    model = assemble(params, build_model, config)
    return run_blocks(model, tokens, positions, mask, config, key)[0]


def to_logits(
    params: PyTree, x: Float[Array, "*rest width"], config: ModelConfig
) -> Float[Array, "*rest vocab"]:
    """Logits of the next token, in float32."""
    return assemble(params, build_model, config).head(x)


def run_blocks(
    model: Transformer,
    tokens: Int[Array, "batch time"],
    positions: Int[Array, "batch time"],
    mask: Bool[Array, "#batch time slots"],
    config: ModelConfig,
    key: Key[Array, ""] | None = None,
    caches: Caches | None = None,
) -> tuple[Float[Array, "batch time width"], Caches | None]:
    """What the head makes logits of, in float32, and the caches with these tokens in them.

    Args:
        model: the model.
        tokens: what is read now.
        positions: position of each token in its text.
        mask: which slots each token may look at.
        config: the config that the model was built from.
        key: noise for dropout; without it the model is in inference mode.
        caches: one a layer, stacked like the layers.
    """

    def apply(
        block: Block, x: Array, layer_key: MaybeKey, cache: KVCache | None
    ) -> tuple[Array, KVCache | None]:
        return block(x, positions, mask, config.dropout, layer_key, cache)

    if config.remat:
        apply = eqx.filter_checkpoint(apply)
    x = model.embedding(tokens).astype(config.compute_dtype)
    keys = None if key is None else jax.random.split(key, config.num_layers)
    if isinstance(model.blocks, Block):
        arrays, static = eqx.partition(model.blocks, eqx.is_array)

        def body(x: Array, layer: PyTree) -> tuple[Array, PyTree]:
            block_arrays, layer_key, cache = layer
            return apply(eqx.combine(block_arrays, static), x, layer_key, cache)

        layers: Any = (arrays, keys, caches)
        x, new_caches = jax.lax.scan(body, x, layers)
    else:
        none = [None] * config.num_layers
        layers = zip(model.blocks, none if keys is None else keys, caches or none, strict=True)
        new_caches = []
        for block, layer_key, cache in layers:
            x, new_cache = apply(block, x, layer_key, cache)
            new_caches.append(new_cache)
    # In float32, or probabilities would come in the coarse steps of bfloat16.
    x = model.norm(x.astype(jnp.float32))
    return x, None if caches is None else new_caches


def empty_caches(config: ModelConfig, batch: int, num_slots: int) -> Caches:
    """Caches without any token, one a layer."""
    shape = (batch, num_slots, config.num_kv_heads, config.width // config.num_heads)
    one = KVCache(*(jnp.zeros(shape, config.compute_dtype) for _ in range(2)))
    if config.stacked:
        return jax.tree.map(lambda x: jnp.broadcast_to(x, (config.num_layers, *shape)), one)
    return [one] * config.num_layers

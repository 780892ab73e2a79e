"""The optimizer of the peers that use Optax, and what their transformers share."""

import jax
import jax.numpy as jnp
import optax
from jax import Array

from .problem import CLIP, LEARNING_RATE, WEIGHT_DECAY


def optimizer(model: str) -> optax.GradientTransformation:
    """Adam, or AdamW after clipping, with decay of matrices alone."""
    if model != "transformer":
        return optax.adam(LEARNING_RATE)
    return optax.chain(
        optax.clip_by_global_norm(CLIP[model]),
        optax.adamw(
            LEARNING_RATE,
            weight_decay=WEIGHT_DECAY[model],
            mask=lambda params: jax.tree.map(lambda x: x.ndim > 1, params),
        ),
    )


def cross_entropy(logits: Array, targets: Array) -> Array:
    """Mean over all targets, in float32."""
    logits = logits.astype(jnp.float32)
    return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()


def rotate(x: Array) -> Array:
    """Rotary positions of `[..., time, heads, size]`."""
    time, half = x.shape[-3], x.shape[-1] // 2
    angles = jnp.arange(time)[:, None] * 10000.0 ** (-jnp.arange(half) / half)
    cos, sin = (f(angles).astype(x.dtype)[:, None, :] for f in (jnp.cos, jnp.sin))
    left, right = x[..., :half], x[..., half:]
    return jnp.concatenate([left * cos - right * sin, right * cos + left * sin], axis=-1)


def attention(query_key_value: Array, heads: int) -> Array:
    """Causal attention from one projection `[..., time, 3 * size]`."""
    *rest, time, width = query_key_value.shape
    split = query_key_value.reshape(*rest, time, 3 * heads, width // (3 * heads))
    query, key, value = jnp.split(split, 3, axis=-2)
    mixed = jax.nn.dot_product_attention(rotate(query), rotate(key), value, is_causal=True)
    return mixed.reshape(*rest, time, width // 3)

"""Causal attention with rotary positions, grouped keys and values, and a cache for decoding."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from .embeddings import rotate
from .layers import Linear


class KVCache(NamedTuple):
    """Keys and values of the tokens so far, at the slots of their positions."""

    keys: Float[Array, "batch slots kv_heads size"]
    values: Float[Array, "batch slots kv_heads size"]


class Attention(eqx.Module):
    """Attention in which groups of heads share keys and values (Ainslie et al., 2023)."""

    query_key_value: Linear
    """All heads of queries, then of keys, then of values, in one matrix."""
    out: Linear
    num_heads: int = eqx.field(static=True)
    num_kv_heads: int = eqx.field(static=True)

    def __init__(
        self, size: int, num_heads: int, num_kv_heads: int, out_scale: float, key: Key[Array, ""]
    ):
        """Outputs start at about size `out_scale`."""
        in_key, out_key = jax.random.split(key)
        heads_size = (num_heads + 2 * num_kv_heads) * (size // num_heads)
        self.query_key_value = Linear(size, heads_size, 1.0, in_key)
        self.out = Linear(size, size, out_scale, out_key)
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads

    def __call__(
        self,
        x: Float[Array, "batch time size"],
        positions: Int[Array, "batch time"],
        mask: Bool[Array, "#batch time slots"],
        cache: KVCache | None = None,
    ) -> tuple[Float[Array, "batch time size"], KVCache | None]:
        """Attend from each token to the slots that its mask allows.

        Args:
            x: the tokens.
            positions: position of each token in its text.
            mask: True where a token may look at a slot. Without a cache the slots are the tokens.
            cache: earlier keys and values; those of `x` are written into it at their positions.

        Returns:
            One vector a token, and the cache with the new tokens in it.
        """
        batch, time, size = x.shape
        heads = self.query_key_value(x).reshape(batch, time, -1, size // self.num_heads)
        ends = [self.num_heads, self.num_heads + self.num_kv_heads]
        query, key, value = jnp.split(heads, ends, axis=2)
        query, key = rotate(query, positions), rotate(key, positions)
        if cache is not None:
            rows = jnp.arange(batch)[:, None]
            cache = KVCache(
                cache.keys.at[rows, positions].set(key), cache.values.at[rows, positions].set(value)
            )
            key, value = cache
        mixed = jax.nn.dot_product_attention(query, key, value, mask=mask[:, None])
        return self.out(mixed.reshape(batch, time, size)), cache


def causal_mask(
    positions: Int[Array, "batch time"], slots: Int[Array, "slots"], window: int | None = None
) -> Bool[Array, "batch time slots"]:
    """Each token sees itself and what came before it, at most `window` tokens in all.

    Args:
        positions: position of each token in its text.
        slots: the positions that the slots stand for.
        window: how far back a token may look, itself included; None is no limit.
    """
    distance = positions[:, :, None] - slots[None, None, :]
    mask = distance >= 0
    return mask if window is None else mask & (distance < window)

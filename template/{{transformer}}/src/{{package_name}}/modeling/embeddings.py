"""Where tokens become vectors, and where positions come in."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key


class TokenEmbedding(eqx.Module):
    """A vector for each token."""

    weight: Float[Array, "vocab size"]

    def __init__(self, vocab_size: int, size: int, key: Key[Array, ""]):
        """Draw small vectors; the first norm brings them to scale."""
        self.weight = 0.1 * jax.random.normal(key, (vocab_size, size))

    def __call__(self, tokens: Int[Array, "*batch"]) -> Float[Array, "*batch size"]:
        """Look the vectors up."""
        return self.weight[tokens]


def rotate(
    x: Float[Array, "batch time heads size"], positions: Int[Array, "batch time"]
) -> Float[Array, "batch time heads size"]:
    """Turn pairs of features by an angle that grows with the position (Su et al., 2021).

    Feature `i` is paired with `i + size / 2`; the pair turns by `position * 10000**(-2 i / size)`.
    The product of a rotated query and key depends on the distance between them alone.
    """
    half = x.shape[-1] // 2
    frequencies = 10000.0 ** (-jnp.arange(half, dtype=jnp.float32) / half)
    angles = positions[..., None, None].astype(jnp.float32) * frequencies[None, None, None, :]
    cos, sin = jnp.cos(angles).astype(x.dtype), jnp.sin(angles).astype(x.dtype)
    left, right = x[..., :half], x[..., half:]
    return jnp.concatenate([left * cos - right * sin, right * cos + left * sin], axis=-1)

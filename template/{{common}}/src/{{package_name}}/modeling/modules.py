"""Building blocks."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, ScalarLike


def dropout(
    x: Float[Array, "*shape"], rate: ScalarLike | None, key: Key[Array, ""] | None
) -> Float[Array, "*shape"]:
    """Zero each element with probability `rate` and scale the others up to keep the mean.

    Without a key or a rate this is the identity: inference mode is a matter of structure, decided
    when the function is traced. A rate is data, so a new one needs no new program, and a rate of 0
    still draws its noise (Srivastava et al., 2014).
    """
    if key is None or rate is None:
        return x
    rate = jnp.asarray(rate, x.dtype)
    keep = jax.random.bernoulli(key, 1.0 - rate, x.shape)
    return jnp.where(keep, x / (1.0 - rate), 0.0).astype(x.dtype)

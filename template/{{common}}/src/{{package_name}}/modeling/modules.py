"""Building blocks."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, ScalarLike


def dropout(
    x: Float[Array, "*shape"], rate: ScalarLike, key: Key[Array, ""] | None
) -> Float[Array, "*shape"]:
    """Zero each element with probability `rate` and scale the others up to keep the mean.

    Without a key this is the identity: inference mode is a matter of structure, decided when the
    function is traced. The rate is data, so a new one needs no new program
    (Srivastava et al., 2014).
    """
    if key is None:
        return x
    rate = jnp.asarray(rate, x.dtype)
    keep = jax.random.bernoulli(key, 1.0 - rate, x.shape)
    return jnp.where(keep, x / (1.0 - rate), 0.0).astype(x.dtype)

"""What the network is told beside the image: the time on the path, and the class."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

_MAX_FREQUENCY = 100.0
"""Radians per unit of time of the fastest wave, which resolves about a hundredth of the path."""


def time_features(times: Float[Array, "batch"], size: int) -> Float[Array, "batch size"]:
    """Cosines and sines of the time at `size / 2` frequencies, spaced geometrically.

    The sinusoidal embedding of Vaswani et al. (2017), section 3.5, with frequencies that suit
    times from 0 to 1 instead of positions.
    """
    frequencies = jnp.geomspace(1.0, _MAX_FREQUENCY, size // 2)
    angles = times[:, None] * frequencies[None, :]
    return jnp.concatenate([jnp.cos(angles), jnp.sin(angles)], axis=-1)


class TimeEmbedding(eqx.Module):
    """A learnt function of the features of the time: two linear layers with a SiLU between."""

    hidden: eqx.nn.Linear
    out: eqx.nn.Linear

    def __init__(self, size: int, key: Key[Array, ""]):
        hidden_key, out_key = jax.random.split(key)
        self.hidden = eqx.nn.Linear(size, size, key=hidden_key)
        self.out = eqx.nn.Linear(size, size, key=out_key)

    def __call__(self, times: Float[Array, "batch"]) -> Float[Array, "batch size"]:
        """Embed times from 0 to 1."""
        # Fast waves need float32; what is made of them does not.
        features = time_features(times, self.hidden.weight.shape[1])
        features = features.astype(self.hidden.weight.dtype)
        return jax.vmap(self.out)(jax.nn.silu(jax.vmap(self.hidden)(features)))


class ClassEmbedding(eqx.Module):
    """A learnt vector for each class, and one more, the last, for "no class given"."""

    table: Float[Array, "classes_and_null size"]

    def __init__(self, num_classes: int, size: int, key: Key[Array, ""]):
        self.table = jax.random.normal(key, (num_classes + 1, size))

    def __call__(self, labels: Int[Array, "batch"]) -> Float[Array, "batch size"]:
        """Embed labels; the number of classes is the label of the null class."""
        return self.table[labels]

"""Batch normalisation, with its running statistics as a value that is passed in and out."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, ScalarLike


class NormState(NamedTuple):
    """Running statistics of one layer. They are no parameters: no gradient moves them."""

    mean: Float[Array, "channels"]
    variance: Float[Array, "channels"]


class BatchNorm(eqx.Module):
    """Batch normalisation over all axes but the last (Ioffe and Szegedy, 2015)."""

    scale: Float[Array, "channels"]
    bias: Float[Array, "channels"]

    def __init__(self, channels: int):
        self.scale = jnp.ones(channels)
        self.bias = jnp.zeros(channels)

    def init_state(self) -> NormState:
        """Statistics before the first step: with these, normalisation changes nothing."""
        return NormState(jnp.zeros(self.scale.shape), jnp.ones(self.scale.shape))

    def __call__(
        self,
        x: Float[Array, "*batch channels"],
        state: NormState,
        momentum: ScalarLike | None = None,
        epsilon: float = 1e-5,
    ) -> tuple[Float[Array, "*batch channels"], NormState]:
        """Normalise each channel.

        Args:
            x: activations.
            state: running statistics.
            momentum: in training, the share that the running statistics keep of themselves. They
                then follow the statistics of the batch, which also normalise it. Without a
                momentum the running statistics normalise, each example by itself, and stay as
                they are.
            epsilon: added to the variance.

        Returns:
            The normalised activations, and the running statistics after them.
        """
        if momentum is None:
            mean, variance = state
        else:
            axes = tuple(range(x.ndim - 1))
            mean, variance = x.mean(axes), x.var(axes)
            keep = jnp.asarray(momentum, x.dtype)
            state = NormState(
                keep * state.mean + (1.0 - keep) * mean,
                keep * state.variance + (1.0 - keep) * variance,
            )
        # One multiplication and one addition for each number, and broadcast along the last axis.
        scale = self.scale * jax.lax.rsqrt(variance + epsilon)
        shift = self.bias - mean * scale
        shape = (1,) * (x.ndim - 1) + (-1,)
        return x * scale.reshape(shape) + shift.reshape(shape), state

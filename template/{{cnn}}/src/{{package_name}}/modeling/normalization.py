"""Batch normalisation, with its running statistics as a value that is passed in and out."""

import math
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, ScalarLike


class NormState(NamedTuple):
    """Running statistics of one layer. They are no parameters: no gradient moves them."""

    mean: Float[Array, "channels"]
    variance: Float[Array, "channels"]


class NormUpdate(NamedTuple):
    """How the running statistics follow a batch, in training."""

    momentum: ScalarLike
    """Share of themselves that they keep, from 0 to 1."""
    weight: Float[Array, "batch"]
    """How much each example counts; one of weight 0, such as padding, has no part in them."""


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
        x: Float[Array, "batch *pixels channels"],
        state: NormState,
        update: NormUpdate | None = None,
        epsilon: float = 1e-5,
    ) -> tuple[Float[Array, "batch *pixels channels"], NormState]:
        """Normalise each channel.

        Args:
            x: activations.
            state: running statistics.
            update: given in training. The statistics of the batch normalise it, and the running
                statistics follow them. Without it the running statistics normalise, each example
                by itself, and stay as they are.
            epsilon: added to the variance.

        Returns:
            The normalised activations, and the running statistics after them.
        """
        if update is None:
            now = state
        else:
            now = batch_statistics(x, update.weight, state)
            state = jax.tree.map(partial(_follow, keep=update.momentum), state, now)
        # One multiplication and one addition for each number, and broadcast along the last axis.
        scale = self.scale * jax.lax.rsqrt(now.variance + epsilon)
        shift = self.bias - now.mean * scale
        shape = (1,) * (x.ndim - 1) + (-1,)
        return (x * scale.reshape(shape) + shift.reshape(shape)).astype(x.dtype), state


def batch_statistics(
    x: Float[Array, "batch *pixels channels"], weight: Float[Array, "batch"], otherwise: NormState
) -> NormState:
    """Weighted mean and variance of each channel over examples and pixels, in float32.

    Where no example counts, such as in a part of a batch that is all padding: `otherwise`.
    """
    axes = tuple(range(x.ndim - 1))
    weight = weight.astype(jnp.float32).reshape(-1, *[1] * (x.ndim - 1))
    x = jnp.where(weight > 0, x.astype(jnp.float32), 0.0)  # 0 times nan is nan
    counted = weight.sum()
    share = weight / (jnp.where(counted > 0, counted, 1.0) * math.prod(x.shape[1:-1]))
    mean = (share * x).sum(axes, keepdims=True)
    variance = (share * (x - mean) ** 2).sum(axes)
    now = NormState(mean.reshape(-1), variance)
    return jax.tree.map(lambda new, old: jnp.where(counted > 0, new, old), now, otherwise)


def _follow(
    running: Float[Array, "channels"], now: Float[Array, "channels"], keep: ScalarLike
) -> Float[Array, "channels"]:
    keep = jnp.asarray(keep, jnp.float32)
    return (keep * running + (1.0 - keep) * now).astype(running.dtype)

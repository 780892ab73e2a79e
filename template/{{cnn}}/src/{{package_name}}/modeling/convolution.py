"""Convolutions that stay fast inside a loop, and pooling.

XLA's compiler for CPUs rewrites a convolution into its fast form only outside of loops. Training
runs in a `lax.scan`, where `jax.lax.conv_general_dilated` and above all its gradients are several
times slower. So on CPUs a convolution is made of matrix products, which are fast everywhere: one of
patches and kernel (im2col; Chellapilla et al., 2006), or those of winograd.py where they are
faster. Accelerators have convolutions of their own, in loops as well. `conv2d` is the only place
that knows.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from .winograd import winograd_conv2d, winograd_pays


def conv2d(
    x: Float[Array, "batch height width in_channels"],
    kernel: Float[Array, "kernel_height kernel_width in_channels out_channels"],
) -> Float[Array, "batch height width out_channels"]:
    """Convolution with stride 1 and zero padding that keeps the size.

    The program for a CPU has products of matrices, that for any other device the plain form.
    """
    on_cpu = winograd_conv2d if winograd_pays(x, kernel) else patches_conv2d
    return jax.lax.platform_dependent(x, kernel, cpu=on_cpu, default=plain_conv2d)


def plain_conv2d(
    x: Float[Array, "batch height width in_channels"],
    kernel: Float[Array, "kernel_height kernel_width in_channels out_channels"],
) -> Float[Array, "batch height width out_channels"]:
    """As `conv2d`, by the convolution of the device."""
    return jax.lax.conv_general_dilated(
        x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def patches_conv2d(
    x: Float[Array, "batch height width in_channels"],
    kernel: Float[Array, "kernel_height kernel_width in_channels out_channels"],
) -> Float[Array, "batch height width out_channels"]:
    """As `conv2d`, by one product of two matrices."""
    batch, height, width, _ = x.shape
    rows, columns, in_channels, out_channels = kernel.shape
    padding = [((size - 1) // 2, size // 2) for size in (rows, columns)]
    padded = jnp.pad(x, ((0, 0), *padding, (0, 0)))
    # One patch for each pixel, its numbers in the order of the kernel's first three axes. Shifting
    # along one axis after the other takes fewer slices than all pairs of shifts at once.
    across = jnp.concatenate([padded[:, :, i : i + width] for i in range(columns)], axis=-1)
    patches = jnp.concatenate([across[:, i : i + height] for i in range(rows)], axis=-1)
    # Two axes, because the gradient of a product with more is slow on CPUs.
    patches = patches.reshape(batch * height * width, rows * columns * in_channels)
    return (patches @ kernel.reshape(-1, out_channels)).reshape(batch, height, width, out_channels)


class Conv(eqx.Module):
    """Convolution with a square kernel, stride 1, and no bias: normalisation comes after it."""

    kernel: Float[Array, "size size in_channels out_channels"]

    def __init__(self, size: int, in_channels: int, out_channels: int, key: Key[Array, ""]):
        """Normal numbers of variance `2 / fan_in` (He et al., 2015, equation 10)."""
        shape = (size, size, in_channels, out_channels)
        std = math.sqrt(2.0 / (size * size * in_channels))
        self.kernel = std * jax.random.normal(key, shape)

    def __call__(
        self, x: Float[Array, "batch height width in_channels"]
    ) -> Float[Array, "batch height width out_channels"]:
        """Each pixel replaced by a linear function of its neighbourhood."""
        return conv2d(x, self.kernel)


def max_pool(
    x: Float[Array, "batch height width channels"],
) -> Float[Array, "batch half_height half_width channels"]:
    """The largest number of each 2 x 2 square; halves both sides, rounded up."""
    batch, height, width, channels = x.shape
    padding = ((0, 0), (0, height % 2), (0, width % 2), (0, 0))
    padded = jnp.pad(x, padding, constant_values=-jnp.inf)
    return padded.reshape(batch, -(-height // 2), 2, -(-width // 2), 2, channels).max(axis=(2, 4))

"""Convolutions with 3 x 3 kernels in fewer multiplications, for CPUs.

Of each 4 x 4 square of the image, squares overlapping by half, sums are multiplied with sums of the
kernel, and sums of the 16 products are 2 x 2 numbers of the result: 16 multiplications in the place
of 36 (Lavin and Gray, 2016, "Fast Algorithms for Convolutional Neural Networks", section 4.1,
F(2x2, 3x3)). Over all squares and channels that is 16 products of two matrices, with additions
before and after. They are fast inside a loop, as are their derivatives, and the sums take 4 times
the memory of the image, where patches take 9.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

FROM_KERNEL = ((1.0, 0.0, 0.0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0.0, 0.0, 1.0))
"""The four sums of three numbers in a row of the kernel: `G` of the paper."""


def winograd_pays(
    x: Float[Array, "batch height width in_channels"],
    kernel: Float[Array, "kernel_height kernel_width in_channels out_channels"],
) -> bool:
    """Whether `winograd_conv2d` is the faster form.

    The additions are worth their time with many channels, and the second or more that each shape
    takes to compile with large images. The batch has no say, because it may be unknown.
    """
    _, height, width, _ = x.shape
    rows, columns, in_channels, out_channels = kernel.shape
    large = height * width >= 144 and min(in_channels, out_channels) >= 16
    return large and (rows, columns) == (3, 3)


def winograd_conv2d(
    x: Float[Array, "batch height width in_channels"],
    kernel: Float[Array, "3 3 in_channels out_channels"],
) -> Float[Array, "batch height width out_channels"]:
    """Convolution with stride 1 and zero padding that keeps the size.

    Computed in float32 or more, whatever the arguments are: with its sums of sums in bfloat16 the
    result would be off by two and a half times as much, and no sooner there.
    """
    batch, height, width, in_channels = x.shape
    out_channels = kernel.shape[-1]
    wide = jnp.promote_types(x.dtype, jnp.float32)
    # A frame of one, and one more where a side is odd: squares go two by two.
    frame = ((0, 0), (1, 1 + height % 2), (1, 1 + width % 2), (0, 0))
    framed = jnp.pad(x.astype(wide), frame)
    tiles = [_sums_of_image(rows, axis=2) for rows in _sums_of_image(framed, axis=1)]
    sums = jnp.asarray(FROM_KERNEL, wide)
    weights = jnp.einsum("ai,bj,ijco->abco", sums, sums, kernel.astype(wide))

    def product(row: int, column: int) -> Array:
        tile = tiles[row][column]
        out = tile.reshape(-1, in_channels) @ weights[row, column]
        return out.reshape(*tile.shape[:-1], out_channels)

    across = [_sums_of_products([product(row, column) for column in range(4)]) for row in range(4)]
    left, right = (_sums_of_products([row[side] for row in across]) for side in (0, 1))
    pairs = [jnp.stack([left[row], right[row]], axis=3) for row in (0, 1)]
    even = batch, height + height % 2, width + width % 2, out_channels
    return jnp.stack(pairs, axis=2).reshape(even)[:, :height, :width].astype(x.dtype)


def _sums_of_image(x: Float[Array, "*shape"], axis: int) -> list[Float[Array, "*sums"]]:
    """Of each four neighbours at every second place of an axis, the four sums: `B` of the paper."""
    pairs = x.reshape(*x.shape[:axis], x.shape[axis] // 2, 2, *x.shape[axis + 1 :])
    even, odd = (lax.index_in_dim(pairs, i, axis + 1, keepdims=False) for i in (0, 1))
    first, third = (lax.slice_in_dim(even, *ends, axis=axis) for ends in ((0, -1), (1, None)))
    second, fourth = (lax.slice_in_dim(odd, *ends, axis=axis) for ends in ((0, -1), (1, None)))
    return [first - third, second + third, third - second, second - fourth]


def _sums_of_products(four: list[Float[Array, "*shape"]]) -> list[Float[Array, "*shape"]]:
    """The two numbers that four products make: `A` of the paper."""
    return [four[0] + four[1] + four[2], four[1] - four[2] - four[3]]

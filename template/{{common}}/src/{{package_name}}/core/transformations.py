"""Functions about functions and arrays that know JAX and nothing of this project."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, PyTree, Shaped


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def logsumexp(x: Float[Array, "*shape"], axis: int = -1) -> Float[Array, "*rest"]:
    """`log(sum(exp(x)))` along one axis, without overflow, and without NaN in its derivative.

    The derivative is the softmax, written down instead of derived from the lines below. An axis of
    nothing but -inf gives -inf, and a derivative of zero, where `inf - inf` would give NaN.
    """
    largest = jnp.max(x, axis=axis, keepdims=True)
    shift = jnp.where(jnp.isfinite(largest), largest, 0.0)
    summed = jnp.sum(jnp.exp(x - shift), axis=axis, keepdims=True)
    return jnp.squeeze(jnp.log(summed) + shift, axis=axis)


@logsumexp.defjvp
def _logsumexp_jvp(
    axis: int, primals: tuple[Array], tangents: tuple[ArrayLike]
) -> tuple[Array, Array]:
    (x,), (tangent,) = primals, tangents
    result = logsumexp(x, axis)
    total = jnp.expand_dims(result, axis)
    softmax = jnp.exp(x - jnp.where(jnp.isfinite(total), total, 0.0))
    # All of +inf is one place of probability one; all of -inf is no place at all.
    softmax = jnp.where(jnp.isposinf(total), jnp.isposinf(x).astype(x.dtype), softmax)
    return result, jnp.sum(softmax * tangent, axis=axis)


def per_example_gradients(
    loss: Callable[..., Float[Array, ""]], params: PyTree, *examples: PyTree
) -> PyTree:
    """The gradient of a loss for each example alone.

    Args:
        loss: called with `params` and, for each of `examples`, one example without a batch axis.
        params: what the gradient is taken of.
        examples: arrays or trees of arrays, batched along axis 0. A key is split before: one for
            each example, or all of them draw the same noise.

    Returns:
        A tree like `params`, each leaf with the batch axis in front.
    """
    in_axes = (None, *(0 for _ in examples))
    return jax.vmap(jax.grad(loss), in_axes=in_axes)(params, *examples)


def data_parallel_gradients(
    loss: Callable[[PyTree, PyTree], Float[Array, ""]], mesh: Mesh, axis: str = "data"
) -> Callable[[PyTree, PyTree], tuple[Float[Array, ""], PyTree]]:
    """Loss and gradient of a batch that devices share, with the exchange between them written out.

    It is what `jax.jit` makes of a divided batch by itself, for where that has to be seen or
    changed. The mean over devices is taken of the loss, inside the derivative: the gradient of
    parameters that every device holds is summed over devices already, and its mean would be taken
    of equal sums.

    Args:
        loss: mean over a part of the batch, by parameters and part.
        mesh: devices.
        axis: axis of the mesh that divides the batch; parts are of equal size.

    Returns:
        A function of parameters and whole batch. What is random in `loss` should draw from a key
        that is folded with `jax.lax.axis_index(axis)`, or every part draws the same.
    """

    def mean_loss(params: PyTree, part: PyTree) -> Float[Array, ""]:
        return jax.lax.pmean(loss(params, part), axis)

    return jax.shard_map(
        jax.value_and_grad(mean_loss),
        mesh=mesh,
        in_specs=(PartitionSpec(), PartitionSpec(axis)),
        out_specs=(PartitionSpec(), PartitionSpec()),
    )


def apply_if(condition: Bool[Array, ""], function: Callable[..., PyTree], x: PyTree) -> PyTree:
    """`function(x)` where a traced condition holds, else `x` as it is.

    For choices that depend on data, and for functions that return what they are given in shape and
    dtype. Only the branch that is taken is computed; under `vmap`, where each row may choose, both
    are. What is known when a function is traced, such as training or inference, is an ordinary `if`
    in Python: it costs nothing and leaves the other branch out of the program.
    """
    return jax.lax.cond(condition, function, lambda unchanged: unchanged, x)


def bucket_size(length: int, smallest: int = 8) -> int:
    """The next power of two from `smallest` on that holds `length`.

    Inputs of any length that are padded to such a size make a compiled program for each size, and
    not for each length.
    """
    return max(smallest, 1 << max(length - 1, 0).bit_length())


def pad_to_bucket(
    x: Shaped[Array, "length *rest"], smallest: int = 8
) -> Shaped[Array, "padded *rest"]:
    """`x` with zeros behind it, up to a length of `bucket_size`."""
    missing = bucket_size(len(x), smallest) - len(x)
    return jnp.pad(x, [(0, missing)] + [(0, 0)] * (x.ndim - 1))

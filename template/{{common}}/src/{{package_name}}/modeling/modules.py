"""Building blocks that every model shares."""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Key, PyTree, ScalarLike

from ..core.pytrees import dotted

Module = TypeVar("Module", bound=eqx.Module)


def init_params(build: Callable[..., eqx.Module], config: Any, key: Key[Array, ""]) -> PyTree:
    """The parameters of the module that `build(config, key)` makes: its arrays of floats.

    Raises:
        TypeError: the module holds other arrays, which no optimizer moves and no checkpoint keeps.
    """
    module = build(config, key)
    for path, leaf in jax.tree_util.tree_leaves_with_path(module):
        if eqx.is_array(leaf) and not eqx.is_inexact_array(leaf):
            raise TypeError(
                f"the model stores {dotted(path)}, an array of {leaf.dtype}, which is no "
                "parameter; make it where it is used, or keep it in the model's state"
            )
    return eqx.filter(module, eqx.is_inexact_array)


def assemble(params: PyTree, build: Callable[[Any, Key[Array, ""]], Module], config: Any) -> Module:
    """The module that some parameters belong to.

    What is no parameter comes from the config again, as shapes only: nothing is computed.
    """
    skeleton = eqx.filter_eval_shape(build, config, jax.random.key(0))
    static = eqx.filter(skeleton, lambda leaf: not isinstance(leaf, jax.ShapeDtypeStruct))
    return eqx.combine(params, static)


def cast_floats(tree: PyTree, dtype: DTypeLike) -> PyTree:
    """Every array of floats in a tree as `dtype`, such as parameters for cheaper arithmetic."""
    return jax.tree.map(lambda x: x.astype(dtype) if eqx.is_inexact_array(x) else x, tree)


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

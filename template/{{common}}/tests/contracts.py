"""What every pure function of the project keeps, checked by one set of rules.

A function has one line in `cases.py`, and `test_contracts.py` runs all rules on it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.test_util import check_grads

from .compiles import count_compiles

RTOL, ATOL = 2e-5, 1e-6


@dataclass(frozen=True)
class Case:
    """A pure function and how to call it."""

    name: str
    function: Callable[..., Any]
    """Takes arrays, or trees of arrays, and returns the like."""
    arguments: Callable[[jax.Array], tuple[Any, ...]]
    """From a random key to example arguments, of the same shapes for every key."""
    takes_key: bool = False
    """Whether the function is random, and takes `key=`."""
    smooth: bool = True
    """Whether derivatives exist everywhere; False for kinks such as a ReLU."""
    keeps_dtype: bool = True
    """Whether bfloat16 in gives bfloat16 out; False for losses, which stay in float32."""
    skip: frozenset[str] = field(default=frozenset())
    """Names of rules that do not apply; say why beside it."""


def call(case: Case, *arguments: Any, noise: jax.Array | None = None) -> Any:
    """The function's result, with a key if it takes one."""
    if not case.takes_key:
        return case.function(*arguments)
    return case.function(*arguments, key=jax.random.key(7) if noise is None else noise)


def example(case: Case, seed: int = 0) -> tuple[Any, ...]:
    """Arguments made from a seed."""
    return case.arguments(jax.random.key(seed))


def assert_close(left: Any, right: Any) -> None:
    """Equal trees, up to rounding."""
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(
            np.asarray(a, np.float32), np.asarray(b, np.float32), RTOL, ATOL
        ),
        left,
        right,
    )


def equal(left: Any, right: Any) -> bool:
    """Whether two trees hold the same bits."""
    pairs = zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def jit_equals_eager(case: Case) -> None:
    """Compiled or not, the result is the same."""
    arguments = example(case)
    assert_close(jax.jit(lambda *a: call(case, *a))(*arguments), call(case, *arguments))


def vmap_equals_a_loop(case: Case) -> None:
    """Mapped over a new axis, each result is that of its own call."""
    rows = [example(case, seed) for seed in range(3)]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *rows)
    together = jax.vmap(lambda *a: call(case, *a))(*stacked)
    for i, row in enumerate(rows):
        assert_close(jax.tree.map(lambda x, i=i: x[i], together), call(case, *row))


def gradient_is_that_of_finite_differences(case: Case) -> None:
    """With respect to every float of the arguments."""
    if not case.smooth:
        return
    floats, others = eqx.partition(example(case), eqx.is_inexact_array)

    def scalar(floats: Any) -> jax.Array:
        # It comes back as NumPy arrays, moved a little.
        result = call(case, *eqx.combine(jax.tree.map(jnp.asarray, floats), others))
        outputs = [x for x in jax.tree.leaves(result) if jnp.issubdtype(x.dtype, jnp.floating)]
        return sum((jnp.sum(jnp.sin(x)) for x in outputs), jnp.zeros(()))

    check_grads(scalar, (floats,), order=1, modes=["rev"], rtol=2e-2, atol=2e-2)


def noise_comes_from_the_key_alone(case: Case) -> None:
    """The same arguments and key give the same bits; another key gives others."""
    arguments = example(case)
    first, again = call(case, *arguments), call(case, *arguments)
    assert equal(first, again)
    if case.takes_key:
        assert not equal(first, call(case, *arguments, noise=jax.random.key(8)))


def no_tracer_leaks(case: Case) -> None:
    """Nothing that belongs to a trace outlives it."""
    with jax.checking_leaks():
        jax.jit(lambda *a: call(case, *a))(*example(case))


def no_key_is_used_twice(case: Case) -> None:
    """The checker raises on a key that is drawn from two times."""
    with jax.debug_key_reuse(True):
        jax.block_until_ready(jax.jit(lambda *a: call(case, *a))(*example(case)))


def equal_shapes_compile_once(case: Case) -> None:
    """Other values run the same program."""
    compiled = jax.jit(lambda *a: call(case, *a))
    first, second = example(case, 0), example(case, 1)
    compiled(*first)
    with count_compiles() as later:
        compiled(*second)
    assert later.total == 0


def precision_is_kept(case: Case) -> None:
    """bfloat16 is not widened on the way, or float32 is what comes out of everything."""

    def cast(x: Any) -> Any:
        return x.astype(jnp.bfloat16) if eqx.is_inexact_array(x) else x

    result = call(case, *jax.tree.map(cast, example(case)))
    expected = jnp.bfloat16 if case.keeps_dtype else jnp.float32
    for leaf in jax.tree.leaves(result):
        if jnp.issubdtype(leaf.dtype, jnp.floating):
            assert leaf.dtype == expected


RULES: list[Callable[[Case], None]] = [
    jit_equals_eager,
    vmap_equals_a_loop,
    gradient_is_that_of_finite_differences,
    noise_comes_from_the_key_alone,
    no_tracer_leaks,
    no_key_is_used_twice,
    equal_shapes_compile_once,
    precision_is_kept,
]

"""Every function in `cases.py` keeps every rule of `contracts.py`, and the rules find faults."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.core import Tracer

from .cases import CASES
from .contracts import RULES, Case, equal_shapes_compile_once, jit_equals_eager


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rule(case: Case, rule: Callable[[Case], None]) -> None:
    if rule.__name__ not in case.skip:
        rule(case)


kept: list[Any] = []
calls = iter(range(1000))


def keeps_a_tracer(x: jax.Array) -> jax.Array:
    kept.append(x * 2.0)
    return x


def differs_in_jit(x: jax.Array) -> jax.Array:
    return x + 1.0 if isinstance(x, Tracer) else x


def differs_in_vmap(x: jax.Array) -> jax.Array:
    return x + 1.0 if hasattr(x, "batch_dim") else x


def has_another_derivative(x: jax.Array) -> jax.Array:
    return x + jax.lax.stop_gradient(x**2)


def counts(x: jax.Array) -> jax.Array:
    return x + next(calls)


def ignores_the_key(x: jax.Array, key: jax.Array) -> jax.Array:
    return x + 0.0 * jax.random.normal(key, x.shape)


def draws_twice(x: jax.Array, key: jax.Array) -> jax.Array:
    return x + jax.random.normal(key, x.shape) + jax.random.uniform(key, x.shape)


def widens(x: jax.Array) -> jax.Array:
    return x * np.float32(2.0)


FAULTS: list[tuple[str, Callable[..., Any], type[Exception]]] = [
    ("jit_equals_eager", differs_in_jit, AssertionError),
    ("vmap_equals_a_loop", differs_in_vmap, AssertionError),
    ("gradient_is_that_of_finite_differences", has_another_derivative, AssertionError),
    ("noise_comes_from_the_key_alone", counts, AssertionError),
    ("noise_comes_from_the_key_alone", ignores_the_key, AssertionError),
    ("no_tracer_leaks", keeps_a_tracer, Exception),
    ("no_key_is_used_twice", draws_twice, jax.errors.KeyReuseError),
    ("precision_is_kept", widens, AssertionError),
]


@pytest.mark.parametrize(("name", "function", "error"), FAULTS)
def test_the_rules_find_faults(
    name: str, function: Callable[..., Any], error: type[Exception]
) -> None:
    rule = next(rule for rule in RULES if rule.__name__ == name)
    takes_key = function in (ignores_the_key, draws_twice)
    case = Case("fault", function, lambda key: (jax.random.normal(key, (3,)),), takes_key)
    with pytest.raises(error):
        rule(case)
    kept.clear()


def test_another_shape_is_seen_to_compile() -> None:
    def arguments(key: jax.Array) -> tuple[jax.Array]:
        return (jnp.zeros(3 + int(jax.random.key_data(key)[-1])),)

    with pytest.raises(AssertionError):
        equal_shapes_compile_once(Case("fault", jnp.sin, arguments))


def test_a_shape_that_depends_on_a_value_cannot_hide() -> None:
    case = Case("fault", lambda x: jnp.zeros(int(x.sum())), lambda key: (jnp.ones(3),))
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jit_equals_eager(case)

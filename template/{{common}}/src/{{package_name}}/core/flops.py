"""Counting the floating-point operations of a function."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import jax
from jax.extend.core import jaxpr_as_fun

Program: TypeAlias = Any
"""A jaxpr, closed or not; newer versions of JAX have one class for both, under one name."""


def count_flops(function: Callable[..., Any], *args: Any) -> float:
    """Operations of one call, as XLA's analysis counts them; nothing is computed or compiled.

    XLA counts the body of a loop once. Here it counts as often as a `scan` runs it. The body of a
    `while_loop`, whose end no one knows before, still counts once.

    Args:
        function: a pure function.
        args: what it is called with; shapes are enough.
    """
    return _all(jax.make_jaxpr(function)(*args))


def _all(jaxpr: Program) -> float:
    return _once(jaxpr) + sum(length * _all(body) - _once(body) for body, length in _scans(jaxpr))


def _once(jaxpr: Program) -> float:
    shapes = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in jaxpr.in_avals]
    analysis = jax.jit(jaxpr_as_fun(jaxpr)).lower(*shapes).cost_analysis() or {}
    return float(analysis.get("flops", 0.0))


def _scans(jaxpr: Program) -> Iterator[tuple[Program, int]]:
    """The outermost scans, wherever they are called, with their bodies and lengths."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "scan":
            yield equation.params["jaxpr"], equation.params["length"]
            continue
        for value in equation.params.values():
            for inner in value if isinstance(value, (tuple, list)) else [value]:
                if hasattr(inner, "eqns"):
                    yield from _scans(inner)

"""Range checks for configs, declared where a field is declared and run once, outside JAX.

A constructor never checks anything: JAX rebuilds configs with tracers and placeholders.
"""

import dataclasses
import math
import operator
import typing
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, GroupedMetadata, Gt, Interval, Le, Lt, MinLen

from .errors import UserError
from .pytrees import is_config

PositiveInt = Annotated[int, Gt(0)]
NonNegativeInt = Annotated[int, Ge(0)]
PositiveFloat = Annotated[float, Gt(0.0)]
NonNegativeFloat = Annotated[float, Ge(0.0)]
UnitFloat = Annotated[float, Interval(ge=0.0, le=1.0)]
"""From 0 to 1, both included."""
Fraction = Annotated[float, Interval(ge=0.0, lt=1.0)]
"""From 0 to below 1: a dropout rate, a momentum, a decay."""

_LARGEST = 2**31 - 1

_RULES = (
    (Gt, "gt", operator.gt, "above"),
    (Ge, "ge", operator.ge, "at least"),
    (Lt, "lt", operator.lt, "below"),
    (Le, "le", operator.le, "at most"),
)


def validate(config: Any) -> None:
    """Check a config and everything nested in it, and report all problems at once.

    Each annotated range is checked, each float must be finite, and a class that defines
    `problems()`, yielding `(field, message)`, is asked for what only it can know.

    Raises:
        UserError: one line for each problem, with the dotted name of the field.
    """
    problems = list(_problems(config, ""))
    if problems:
        raise UserError("\n".join(f"{name}: {message}" for name, message in problems))


def _problems(config: Any, prefix: str) -> Iterator[tuple[str, str]]:
    hints = typing.get_type_hints(type(config), include_extras=True)
    for field in dataclasses.fields(config):
        value, name = getattr(config, field.name), prefix + field.name
        if is_config(value):
            yield from _problems(value, name + ".")
        else:
            for message in _value_problems(value, hints[field.name]):
                yield name, message
    if hasattr(config, "problems"):
        for name, message in config.problems():
            yield prefix + name, message


def _value_problems(value: Any, annotation: Any) -> Iterator[str]:
    if value is None:
        return
    if isinstance(value, float) and not math.isfinite(value):
        yield f"must be a finite number, got {value}"
        return
    if isinstance(value, int) and abs(value) > _LARGEST:
        yield f"must fit into 32 bits, got {value}"
        return
    if isinstance(value, tuple):
        item = next(iter(_args(annotation)), None)
        for index, element in enumerate(value):
            for message in _value_problems(element, item):
                yield f"item {index + 1} {message}"
    for rule in _metadata(annotation):
        if isinstance(rule, MinLen) and isinstance(value, tuple) and not value:
            yield "must not be empty"
        for kind, bound, holds, words in _RULES:
            if isinstance(rule, kind) and not holds(_as_traced(value), getattr(rule, bound)):
                yield f"must be {words} {getattr(rule, bound)}, got {value}"
    if isinstance(value, float) and math.isinf(_as_traced(value)):
        yield f"is too large for float32, got {value}"


def _as_traced(value: Any) -> Any:
    """A number as compiled code has it: 1 - 1e-9 is 1 there, and 1e-50 is 0."""
    if not isinstance(value, float):
        return value
    with np.errstate(over="ignore", under="ignore"):
        return float(np.float32(value))


def _args(annotation: Any) -> tuple[Any, ...]:
    if typing.get_origin(annotation) is Annotated:
        return _args(annotation.__origin__)
    return typing.get_args(annotation)


def _metadata(annotation: Any) -> Iterator[object]:
    """The constraints of an annotation, and of each alternative of a union."""
    if typing.get_origin(annotation) is Annotated:
        for entry in annotation.__metadata__:
            yield from entry if isinstance(entry, GroupedMetadata) else [entry]
        yield from _metadata(annotation.__origin__)
    elif typing.get_origin(annotation) is not tuple:
        for argument in typing.get_args(annotation):
            yield from _metadata(argument)

"""Range checks for configs, declared where a field is declared and run once, outside JAX.

A constructor never checks anything: JAX rebuilds configs with tracers and placeholders.
"""

import dataclasses
import math
import operator
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Gt, Interval, Le, Lt, MaxLen, MinLen

from .annotations import (
    allows,
    alternatives,
    constraints,
    in_words,
    is_marked_static,
    tuple_items,
)
from .errors import UserError
from .pytrees import is_config, plain_float

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


Problem = tuple[str, str]
"""The dotted name of a field, and what is wrong with its value."""


def validate(config: Any) -> None:
    """Check a config and everything nested in it, and report all problems at once.

    Each value must have exactly the annotated type and lie in the annotated range, each float must
    be finite, and a class that defines `problems()`, yielding `(field, message)`, is asked for what
    only it can know.

    Raises:
        UserError: one line for each problem, with the dotted name of the field.
    """
    refuse(find_problems(config))


def refuse(problems: Iterable[Problem]) -> None:
    """Raise a UserError of one line for each problem, if there is any."""
    lines = [f"{name}: {message}" for name, message in problems]
    if lines:
        raise UserError("\n".join(lines))


def find_problems(config: Any, prefix: str = "") -> Iterator[Problem]:
    """What `validate` would report."""
    hints = typing.get_type_hints(type(config), include_extras=True)
    found = []
    for field in dataclasses.fields(config):
        value, name = getattr(config, field.name), prefix + field.name
        # What is static is hashed, and an array has no hash.
        is_array = is_marked_static(hints[field.name]) and hasattr(value, "dtype")
        if is_array or not allows(hints[field.name], value):
            found.append((name, f"must be {in_words(hints[field.name])}, got {value!r}"))
        elif is_config(value):
            found.extend(find_problems(value, name + "."))
        else:
            found.extend((name, text) for text in _value_problems(value, hints[field.name]))
    yield from found
    faulty = {name for name, _ in found}
    for name, message in _relations(config, bool(found)):
        if prefix + name not in faulty:
            yield prefix + name, message


def _relations(config: Any, has_faults: bool) -> Iterator[Problem]:
    """What the class itself has to say of several fields together."""
    try:
        yield from config.problems() if hasattr(config, "problems") else ()
    except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError):
        # A relation may stumble over a field that is wrong by itself, and that is reported.
        if not has_faults:
            raise


def _value_problems(value: Any, annotation: Any) -> Iterator[str]:
    if isinstance(value, (str, Path)):
        yield from _text_problems(value)
        if isinstance(value, str):
            yield from _length_problems(value, annotation, "characters")
    elif isinstance(value, tuple):
        yield from _length_problems(value, annotation, "items")
        yield from _tuple_problems(value, annotation)
    elif type(value) is int and abs(value) > _LARGEST:
        yield f"must fit into 32 bits, got {value}"
    elif isinstance(value, float) or hasattr(value, "dtype"):
        yield from _float_problems(plain_float(value), annotation)
    elif value is not None:
        yield from _range_problems(value, annotation)


def _text_problems(value: str | Path) -> Iterator[str]:
    text = str(value)
    if "\0" in text or text.encode(errors="replace").decode() != text:
        yield f"must be text in UTF-8, got {text!r}"
    if isinstance(value, Path) and text.startswith("~"):
        yield f"must not begin with ~, which only a shell opens, and only after a blank: {text}"


def _tuple_problems(value: tuple[Any, ...], annotation: Any) -> Iterator[str]:
    kind = next(m for m in alternatives(annotation) if typing.get_origin(m) is tuple)
    items = tuple_items(kind, len(value))
    for index, (element, item) in enumerate(zip(value, items, strict=True)):
        for message in _value_problems(element, item):
            yield f"item {index + 1} {message}"


def _length_problems(value: str | tuple[Any, ...], annotation: Any, parts: str) -> Iterator[str]:
    for rule in constraints(annotation):
        if isinstance(rule, MinLen) and len(value) < rule.min_length:
            least = f"have at least {rule.min_length} {parts}, got {len(value)}"
            yield f"must {'not be empty' if rule.min_length == 1 else least}"
        if isinstance(rule, MaxLen) and len(value) > rule.max_length:
            yield f"must have at most {rule.max_length} {parts}, got {len(value)}"


def _float_problems(value: float, annotation: Any) -> Iterator[str]:
    if not math.isfinite(value):
        yield f"must be a finite number, got {value}"
        return
    yield from _range_problems(value, annotation)
    if math.isinf(_as_traced(value)):
        yield f"is too large for float32, got {value}"


def _range_problems(value: Any, annotation: Any) -> Iterator[str]:
    for rule in constraints(annotation):
        for kind, bound, holds, words in _RULES:
            if isinstance(rule, kind) and not holds(_as_traced(value), getattr(rule, bound)):
                yield f"must be {words} {getattr(rule, bound)}, got {value}"


def _as_traced(value: Any) -> Any:
    """A number as compiled code has it: 1 - 1e-9 is 1 there, and 1e-50 is 0."""
    if not isinstance(value, float):
        return value
    with np.errstate(over="ignore", under="ignore"):
        return float(np.float32(value))

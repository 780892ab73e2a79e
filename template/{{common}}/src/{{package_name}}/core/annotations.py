"""What the annotation of a config field says: its alternatives, and which values it allows."""

import enum
import types
import typing
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

STATIC = "static"
"""Marks a field as structure: `width: Annotated[float, STATIC]`."""

_WORDS = {
    int: "an int",
    bool: "a bool",
    str: "text",
    float: "a float",
    Path: "a Path",
    types.NoneType: "None",
}


def alternatives(annotation: Any) -> list[Any]:
    """The members of a union, `Annotated` taken off; a plain type is its only member."""
    if typing.get_origin(annotation) is Annotated:
        return alternatives(annotation.__origin__)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return [m for arg in typing.get_args(annotation) for m in alternatives(arg)]
    return [annotation]


def is_marked_static(annotation: Any) -> bool:
    """Whether a field is marked `Annotated[..., STATIC]`."""
    return typing.get_origin(annotation) is Annotated and STATIC in annotation.__metadata__


def is_static_type(annotation: Any) -> bool:
    """Whether values of a type are hashable, immutable, and read back from text as they were."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Literal:
        return all(type(value) in (int, bool, str, types.NoneType) for value in arguments)
    if origin is tuple:
        return all(_one_static(item) for item in arguments if item is not Ellipsis)
    if annotation in (int, bool, str, Path, types.NoneType):
        return True
    if not isinstance(annotation, type) or not issubclass(annotation, enum.Enum):
        return False
    return all(isinstance(value, (int, str)) for value in enum_values(annotation))


def is_static(annotation: Any) -> bool:
    """Whether a field is structure: one type whose values are, or `None`, or marked."""
    return is_marked_static(annotation) or _one_static(annotation)


def allows(annotation: Any, value: Any) -> bool:
    """Whether `value` is exactly of the annotated type: a `bool` is no `int`, an `int` no `float`.

    A scalar array of floats is a `float`: that is what JAX makes of one.
    """
    return any(_is_a(value, member) for member in alternatives(annotation))


def in_words(annotation: Any) -> str:
    """What a person has to write, such as `an int or None`."""
    return " or ".join(_words(member) for member in alternatives(annotation))


def enum_values(cls: type[enum.Enum]) -> dict[Any, enum.Enum]:
    """The members of an enum by the value that is written for each."""
    return {member.value: member for member in cls}


def _one_static(annotation: Any) -> bool:
    members = alternatives(annotation)
    # Of two types, text could be read as either.
    one_type = len([m for m in members if m is not types.NoneType]) <= 1
    return one_type and all(is_static_type(member) for member in members)


def _is_a(value: Any, member: Any) -> bool:
    origin, arguments = typing.get_origin(member), typing.get_args(member)
    if origin is Literal:
        return any(type(value) is type(word) and value == word for word in arguments)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        items = tuple_items(member, len(value))
        return len(items) == len(value) and all(map(allows, items, value))
    if member is float:
        is_scalar = getattr(value, "shape", None) == () and np.issubdtype(value.dtype, np.floating)
        return isinstance(value, float) or is_scalar
    if member in (int, bool, str):
        return type(value) is member
    return not isinstance(member, type) or isinstance(value, member)


def tuple_items(annotation: Any, length: int) -> tuple[Any, ...]:
    """The annotation of each item of a tuple; `tuple[int, ...]` has as many as it is asked for."""
    arguments = typing.get_args(annotation)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return (arguments[0],) * length
    return arguments


def _words(member: Any) -> str:
    origin, arguments = typing.get_origin(member), typing.get_args(member)
    if origin is Literal:
        return f"one of {', '.join(map(str, arguments))}"
    if origin is tuple:
        return f"a tuple of {', '.join(in_words(a) for a in arguments if a is not Ellipsis)}"
    if isinstance(member, type) and issubclass(member, enum.Enum):
        return f"one of {', '.join(map(str, enum_values(member)))}"
    return _WORDS.get(member, getattr(member, "__name__", str(member)))

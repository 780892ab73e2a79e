"""What the annotation of a config field says: its alternatives, and which values it allows."""

import dataclasses
import enum
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import BaseMetadata, Ge, GroupedMetadata, Gt, Le, Lt, MaxLen, MinLen

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
    """Whether a field, or a member of its union, is marked `Annotated[..., STATIC]`."""
    if typing.get_origin(annotation) is Annotated:
        return STATIC in annotation.__metadata__ or is_marked_static(annotation.__origin__)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return any(map(is_marked_static, typing.get_args(annotation)))
    return False


def is_static(annotation: Any) -> bool:
    """Whether a field is structure: its values are hashable, and read back from text as they were.

    That is one type, or `None`. A float is structure where it is marked.
    """
    return _is_static(annotation, is_marked_static(annotation))


def constraints(annotation: Any) -> Iterator[object]:
    """The ranges and lengths of an annotation, and of each alternative of a union."""
    if typing.get_origin(annotation) is Annotated:
        for entry in annotation.__metadata__:
            yield from entry if isinstance(entry, GroupedMetadata) else [entry]
        yield from constraints(annotation.__origin__)
    elif typing.get_origin(annotation) is not tuple:
        for argument in typing.get_args(annotation):
            yield from constraints(argument)


def unchecked_constraint(annotation: Any) -> object | None:
    """A constraint that nothing would check: of an unknown kind, or one that its type has not."""
    members = [member for member in alternatives(annotation) if member is not types.NoneType]
    is_tuple = [typing.get_origin(member) is tuple for member in members]
    for rule in constraints(annotation):
        is_range = isinstance(rule, (Gt, Ge, Lt, Le)) and set(members) <= {int, float}
        is_length = isinstance(rule, (MinLen, MaxLen)) and (all(is_tuple) or members == [str])
        if isinstance(rule, BaseMetadata) and not is_range and not is_length:
            return rule
    tuples = members if all(is_tuple) else []
    items = [item for member in tuples for item in typing.get_args(member)]
    return next(filter(None, map(unchecked_constraint, items)), None)


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


def _is_static(annotation: Any, marked: bool) -> bool:
    members = alternatives(annotation)
    types_of_value = [member for member in members if member is not types.NoneType]
    texts = [text for member in members for text in _texts(member)]
    # Of two types, or of two values with one text, the text could be read as either.
    is_clear = len(types_of_value) <= 1 and len(set(texts)) == len(texts)
    return is_clear and all(_is_static_type(member, marked) for member in members)


def _is_static_type(member: Any, marked: bool) -> bool:
    if typing.get_origin(member) is Literal:
        words = typing.get_args(member)
        return all(type(word) in (int, bool, str, types.NoneType) for word in words)
    if typing.get_origin(member) is tuple:
        items = typing.get_args(member)
        return all(_is_static(item, marked) for item in items if item is not Ellipsis)
    if member in (int, bool, str, Path, types.NoneType) or (marked and member is float):
        return True
    if not isinstance(member, type) or not issubclass(member, enum.Enum):
        return False
    # Members of a Flag can be joined to values that have no word.
    is_plain = all(type(value) in (int, str) for value in enum_values(member))
    return is_plain and not issubclass(member, enum.Flag)


def _texts(member: Any) -> list[str]:
    """What is written for each value of a type that has few."""
    if member is types.NoneType:
        return ["None"]
    if typing.get_origin(member) is Literal:
        return [str(word) for word in typing.get_args(member)]
    if isinstance(member, type) and issubclass(member, enum.Enum):
        return [str(value) for value in enum_values(member)]
    return []


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
    # A subclass of a config would be written without the fields that it adds.
    is_exact = dataclasses.is_dataclass(member)
    return type(value) is member if is_exact else isinstance(value, member)


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

"""Configs as pytrees: which fields are data, which are structure, and how both are inspected.

`register_configs` reads the annotations of a frozen dataclass. A field is one of

* **data**: `float`, `float | None`, another registered config, a union of configs. JAX traces its
  numbers, so a new value reuses the compiled program and `jax.grad` and `jax.vmap` reach it. `None`
  is structure: switching between `None` and a number compiles once more, a new number does not.
* **static**: `int`, `bool`, `str`, `Literal`, `Enum`, `Path`, `None`, tuples of those, and whatever
  is marked `Annotated[..., STATIC]`. It is part of the compiled program; a new value compiles anew.

Anything else (list, dict, array, `Any`) is refused when the module is imported: as a static field a
mutable value gives stale results, and an array fails only at the second call.

A config that a person made holds plain floats. They become `np.float32` scalars when JAX takes the
config apart, and only then: `jax.jit` would trace a plain float too, but as a weakly typed value,
and `eqx.filter_jit` and `eqx.filter_grad` would take it as a constant. NumPy scalars start no
device. Rebuilding goes past `__init__`, because JAX also rebuilds with tracers, `None` and
placeholders.
"""

import dataclasses
import enum
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import jax
import numpy as np
from jax.tree_util import GetAttrKey, KeyPath, keystr
from jaxtyping import PyTree

STATIC = "static"
"""Marks a field as structure: `width: Annotated[float, STATIC]`."""

_STATIC_TYPES = (int, str, enum.Enum, Path, types.NoneType)
_registered: dict[type, tuple[str, ...]] = {}


def register_configs(*classes: type[Any]) -> None:
    """Register frozen dataclasses as pytrees, nested ones before those that hold them.

    Raises:
        TypeError: a class is not a frozen dataclass, or a field is neither data nor static.
    """
    for cls in classes:
        data, static = _classify(cls)
        _register(cls, data, static)
        _registered[cls] = data


def is_config(value: object) -> bool:
    """Whether `value` is an instance of a registered config class."""
    return type(value) in _registered


def data_fields(cls: type) -> tuple[str, ...]:
    """Names of the fields of a registered config class that JAX traces."""
    return _registered[cls]


def config_items(config: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Each value of a config with its dotted name, nested configs opened, in field order."""
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if is_config(value):
            yield from config_items(value, f"{prefix}{field.name}.")
        else:
            yield prefix + field.name, value


def union_members(union: Any) -> dict[str, type]:
    """The classes of a union of configs, by the word that chooses each: its name in lower case."""
    return {member.__name__.lower(): member for member in _members(union)}


def dotted(path: KeyPath) -> str:
    """A key path as people write it: `optimizer.learning_rate`."""
    return keystr(path, simple=True, separator=".")


def count_elements(tree: PyTree) -> int:
    """Number of scalars in all arrays of a tree, shapes being enough."""
    return sum(leaf.size for leaf in jax.tree.leaves(tree))


def _classify(cls: type[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not dataclasses.is_dataclass(cls) or not cls.__dataclass_params__.frozen:  # pyright: ignore[reportAttributeAccessIssue]
        raise TypeError(f"{cls.__qualname__} must be a dataclass with frozen=True")
    hints = typing.get_type_hints(cls, include_extras=True)
    data, static = [], []
    for field in dataclasses.fields(cls):
        if _is_data(hints[field.name]):
            data.append(field.name)
        elif _is_static(hints[field.name]):
            static.append(field.name)
        else:
            for member in _members(hints[field.name]):
                if dataclasses.is_dataclass(member) and member not in _registered:
                    raise TypeError(
                        f"{cls.__qualname__}.{field.name}: {member} is not registered; "
                        f"name it in register_configs before {cls.__qualname__}"
                    )
            raise TypeError(
                f"{cls.__qualname__}.{field.name}: {hints[field.name]} cannot be a config field. "
                "Use float, a registered config or a union of those (traced by JAX), or int, bool, "
                "str, Literal, Enum, Path or a tuple of those (static); mark any other hashable, "
                "immutable type Annotated[..., STATIC]."
            )
    return tuple(data), tuple(static)


def _is_data(annotation: Any) -> bool:
    if _marked_static(annotation):
        return False
    members = [m for m in _members(annotation) if m is not types.NoneType]
    if not members:
        return False
    return all(m is float for m in members) or all(m in _registered for m in members)


def _is_static(annotation: Any) -> bool:
    if _marked_static(annotation):
        return True
    return all(_is_static_member(member) for member in _members(annotation))


def _is_static_member(member: Any) -> bool:
    if typing.get_origin(member) is Literal:
        return True
    if typing.get_origin(member) is tuple:
        items = [item for item in typing.get_args(member) if item is not Ellipsis]
        return all(not _is_data(item) and _is_static(item) for item in items)
    return isinstance(member, type) and issubclass(member, _STATIC_TYPES)


def _marked_static(annotation: Any) -> bool:
    return typing.get_origin(annotation) is Annotated and STATIC in annotation.__metadata__


def _members(annotation: Any) -> list[Any]:
    """The alternatives of a union, `Annotated` taken off; a plain type is its only alternative."""
    if typing.get_origin(annotation) is Annotated:
        return _members(annotation.__origin__)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return [m for arg in typing.get_args(annotation) for m in _members(arg)]
    return [annotation]


def _register(cls: type[Any], data: tuple[str, ...], static: tuple[str, ...]) -> None:
    keys = tuple(GetAttrKey(name) for name in data)

    def leaf(value: Any) -> Any:
        # Only plain floats: `tree.map` and `in_axes` put None, ints and objects here on purpose.
        return np.float32(value) if type(value) is float else value

    def flatten(config: Any) -> tuple[list[Any], tuple[Any, ...]]:
        return (
            [leaf(getattr(config, name)) for name in data],
            tuple(getattr(config, name) for name in static),
        )

    def flatten_with_keys(config: Any) -> tuple[list[tuple[Any, Any]], tuple[Any, ...]]:
        children, aux = flatten(config)
        return list(zip(keys, children, strict=True)), aux

    def unflatten(aux: tuple[Any, ...], children: Any) -> Any:
        config = object.__new__(cls)
        for name, value in zip(data, children, strict=True):
            object.__setattr__(config, name, value)
        for name, value in zip(static, aux, strict=True):
            object.__setattr__(config, name, value)
        return config

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)

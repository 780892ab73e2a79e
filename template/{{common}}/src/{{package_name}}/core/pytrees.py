"""Configs as pytrees: which fields are data, which are structure, and how both are inspected.

`register_configs` reads the annotations of a frozen dataclass. A field is one of

* **data**: `float`, `float | None`, another registered config, a union of configs. JAX traces its
  numbers, so a new value reuses the compiled program and `jax.grad` and `jax.vmap` reach it. `None`
  is structure: switching between `None` and a number compiles once more, a new number does not.
* **static**: `int`, `bool`, `str`, `Literal`, `Enum`, `Path`, `None`, tuples of those, and a float
  or a tuple of floats that is marked `Annotated[..., STATIC]`. It is part of the compiled program;
  a new value compiles anew.

Anything else (list, dict, array, `Any`) is refused when the module is imported: as a static field a
mutable value gives stale results, and an array fails only at the second call.

A config that a person made holds plain floats. They become `np.float32` scalars when JAX takes the
config apart, and only then: `jax.jit` would trace a plain float too, but as a weakly typed value,
and `eqx.filter_jit` and `eqx.filter_grad` would take it as a constant. NumPy scalars start no
device. Rebuilding goes past `__init__`, because JAX also rebuilds with tracers, `None` and
placeholders; an `np.float32` scalar becomes the shortest plain float that it stands for, so that a
config which went through `jax.tree.map` on the host is again one that a person could have made.
"""

import dataclasses
import types
import typing
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from jax.tree_util import GetAttrKey, KeyPath, keystr
from jaxtyping import PyTree

from .annotations import (
    STATIC,
    alternatives,
    is_marked_static,
    is_static,
    unchecked_constraint,
)

__all__ = ["STATIC", "register_configs"]

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


def is_registered(cls: object) -> bool:
    """Whether `cls` is a registered config class."""
    return isinstance(cls, type) and cls in _registered


def union_members(union: Any) -> dict[str, type]:
    """The classes of a union of configs, by the word that chooses each: its name in lower case."""
    members = [m for m in alternatives(union) if m is not types.NoneType]
    return {member.__name__.lower(): member for member in members}


def union_fields(cls: type, prefix: str = "") -> Iterator[tuple[str, dict[str, type]]]:
    """The dotted name and the members of each field that is a choice between configs."""
    for name, annotation in typing.get_type_hints(cls, include_extras=True).items():
        members = alternatives(annotation)
        configs = [member for member in members if is_registered(member)]
        if configs and len(members) > 1:
            yield prefix + name, union_members(annotation)
        for config in configs:
            yield from union_fields(config, f"{prefix}{name}.")


def plain_float(value: Any) -> float:
    """The shortest plain float that a scalar stands for: 0.1 for `np.float32(0.1)`."""
    return value if type(value) is float else float(str(np.asarray(value)[()]))


def dotted(path: KeyPath) -> str:
    """A key path as people write it: `optimizer.learning_rate`."""
    return keystr(path, simple=True, separator=".")


def count_elements(tree: PyTree) -> int:
    """Number of scalars in all arrays of a tree, shapes being enough."""
    return sum(leaf.size for leaf in jax.tree.leaves(tree))


def _classify(cls: type[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not dataclasses.is_dataclass(cls) or not cls.__dataclass_params__.frozen:  # pyright: ignore[reportAttributeAccessIssue]
        raise TypeError(f"{cls.__qualname__} must be a dataclass with frozen=True")
    hints = _type_hints(cls)
    data, static = [], []
    for field in dataclasses.fields(cls):
        annotation, where = hints[field.name], f"{cls.__qualname__}.{field.name}"
        if not field.init:
            raise TypeError(f"{where}: has init=False, so neither flag nor file could set it")
        if rule := unchecked_constraint(annotation):
            raise TypeError(
                f"{where}: {rule} is not checked here. Numbers take Gt, Ge, Lt, Le and Interval, "
                "text and tuples MinLen, MaxLen and Len; say others in a method problems()."
            )
        if _is_data(annotation):
            _check_union(annotation, where)
            data.append(field.name)
        elif is_static(annotation):
            static.append(field.name)
        else:
            raise TypeError(f"{where}: {_why_refused(annotation, cls)}")
    return tuple(data), tuple(static)


def _type_hints(cls: type[Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except NameError as error:
        fields = dataclasses.fields(cls)
        names = [f.name for f in fields if isinstance(f.type, str) and str(error.name) in f.type]
        raise TypeError(
            f"{cls.__qualname__}.{' or '.join(names)}: {error.name} is not known here; "
            "define it above the call of register_configs"
        ) from None


def _is_data(annotation: Any) -> bool:
    members = [m for m in alternatives(annotation) if m is not types.NoneType]
    if is_marked_static(annotation) or not members:
        return False
    return all(m is float for m in members) or all(m in _registered for m in members)


def _check_union(annotation: Any, where: str) -> None:
    members = [m for m in alternatives(annotation) if m is not types.NoneType]
    if len(union_members(annotation)) < len(members):
        raise TypeError(f"{where}: two classes of this union have one name in lower case")
    for member in members if len(members) > 1 else []:
        if "name" in {field.name for field in dataclasses.fields(member)}:
            raise TypeError(
                f"{where}: {member.__name__} has a field called name, "
                "which says in files which class of the union is meant; call it otherwise"
            )


def _why_refused(annotation: Any, cls: type) -> str:
    for member in alternatives(annotation):
        if dataclasses.is_dataclass(member) and member not in _registered:
            return (
                f"{member} is not registered; name it in register_configs before {cls.__qualname__}"
            )
    return (
        f"{annotation} cannot be a config field. Use float, a registered config or a union of "
        "those (traced by JAX), or one of int, bool, str, Literal, Enum, Path or a tuple of those "
        "(static), each with None if need be. Annotated[float, STATIC] is static. Words of a "
        "Literal or an Enum are int or text, and no two are written alike."
    )


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
            is_scalar = type(value) is np.float32
            object.__setattr__(config, name, plain_float(value) if is_scalar else value)
        for name, value in zip(static, aux, strict=True):
            object.__setattr__(config, name, value)
        return config

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)

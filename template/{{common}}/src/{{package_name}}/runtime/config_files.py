"""Configs as YAML files: written by one run, read and edited by people, read back equal.

Values keep their annotated type, and are read as on the command line: an `int` in digits (`1_000`,
never `1e3` or `1000.0`), a `float` in any usual form, `None` or `null`, `True` or `true`, `False`
or `false`, an `Enum` or a `Literal` by its exact value. Written are YAML's own `null`, `true` and
`false`.
"""

import enum
import functools
import os
import typing
from pathlib import Path
from typing import Any, Literal, TypeVar

import jax
import numpy as np
from cattrs import Converter, transform_error
from cattrs.errors import ForbiddenExtraKeysError
from cattrs.gen import make_dict_structure_fn

from ..core.annotations import allows, alternatives, enum_values, in_words, tuple_items
from ..core.errors import UserError
from ..core.pytrees import is_registered, plain_float, union_members
from .yaml_text import YamlError, read_yaml, write_yaml

T = TypeVar("T")


def save_config(config: Any, path: Path) -> None:
    """Write a config so that `load_config` gives an equal one, in one indivisible step."""
    text = config_text(config)
    draft = path.with_name(path.name + ".tmp")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)


def config_text(config: Any) -> str:
    """The YAML text of a config."""
    return write_yaml(_converter().unstructure(config))


def load_config(path: Path, default: T) -> T:
    """Read a config; what the file leaves out is taken from `default`.

    Raises:
        UserError: the file is missing or is no YAML mapping, or holds an unknown key or a value of
            the wrong type; the message names file and key.
    """
    try:
        content = read_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except (YamlError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: is not a YAML file: {error}") from None
    if content is None:
        content = {}
    if not isinstance(content, dict):
        raise UserError(f"{path}: must hold names and values, such as 'steps: 100'")
    converter = _converter()
    merged = _merge(type(default), converter.unstructure(default), content)
    try:
        return converter.structure(merged, type(default))
    except Exception as error:
        lines = transform_error(error, path="", format_exception=_explain)
        raise UserError("\n".join(f"{path}: {_key_first(line)}" for line in lines)) from None


def _merge(annotation: Any, base: Any, over: Any) -> Any:
    """`over` laid on `base`; another member of a union replaces the whole of it."""
    configs = [member for member in alternatives(annotation) if is_registered(member)]
    if not configs or not isinstance(base, dict) or not isinstance(over, dict):
        return over
    config = configs[0]
    if len(configs) > 1:
        if over.get("name", base["name"]) != base["name"]:
            return over
        config = union_members(annotation)[base["name"]]
    hints = typing.get_type_hints(config)
    return base | {key: _merge(hints.get(key), base.get(key), over[key]) for key in over}


def _explain(error: BaseException, _: type | None) -> str:
    if isinstance(error, ForbiddenExtraKeysError):
        return f"unknown key {', '.join(sorted(map(str, error.extra_fields)))}"
    if isinstance(error, KeyError):
        return "is missing, and has no default"
    return str(error)


def _key_first(line: str) -> str:
    """A line of cattrs, `what @ .where`, in the order that people read."""
    what, _, where = line.rpartition(" @ ")
    where = where.lstrip(".")
    return f"{where}: {what}" if where else what


@functools.cache
def _converter() -> Converter:
    converter = Converter(forbid_extra_keys=True)
    for kind in (int, bool, str):
        converter.register_structure_hook(kind, _to_exactly)
    converter.register_structure_hook(float, lambda value, _: _to_float(value))
    converter.register_structure_hook(Path, lambda value, _: Path(_to_exactly(value, str)))
    converter.register_structure_hook(enum.Enum, _to_exactly)
    converter.register_structure_hook_factory(
        lambda kind: typing.get_origin(kind) is Literal, lambda kind: _to_exactly
    )
    converter.register_structure_hook_factory(
        lambda kind: typing.get_origin(kind) is tuple, _tuple_reader
    )
    converter.register_structure_hook_factory(is_registered, _config_reader)
    converter.register_structure_hook_factory(_is_choice, _choice_reader)

    # An Enum may be a str or an int as well, and is written by its value all the same.
    for kind in (str, int, enum.Enum):
        converter.register_unstructure_hook(
            kind, lambda value: value.value if isinstance(value, enum.Enum) else value
        )
    for kind in (float, np.floating, np.ndarray, jax.Array):  # the last of a config from JAX
        converter.register_unstructure_hook(kind, plain_float)
    converter.register_unstructure_hook(Path, str)
    converter.register_unstructure_hook_factory(_is_choice, _choice_writer)
    return converter


def _is_choice(annotation: Any) -> bool:
    """Whether a field is one of several configs, or a config or None."""
    members = alternatives(annotation)
    return len(members) > 1 and any(is_registered(member) for member in members)


def _choice_reader(union: Any, converter: Converter) -> Any:
    """Read a member of a union by its class in lower case, `name`: the word of the command line.

    One config or None needs no name.
    """
    members = union_members(union)

    def structure(value: Any, _: Any) -> Any:
        if value is None and type(None) in alternatives(union):
            return None
        if len(members) == 1:
            return converter.structure(value, *members.values())
        fields = dict(_to_mapping(value))
        name = fields.pop("name", None)
        if not isinstance(name, str) or name not in members:
            raise ValueError(f"name must be one of {', '.join(members)}, got {name!r}")
        return converter.structure(fields, members[name])

    return structure


def _choice_writer(union: Any, converter: Converter) -> Any:
    named = len(union_members(union)) > 1

    def unstructure(member: Any) -> Any:
        if member is None:
            return None
        fields = converter.unstructure(member, type(member))
        return {"name": type(member).__name__.lower(), **fields} if named else fields

    return unstructure


def _config_reader(cls: type, converter: Converter) -> Any:
    read = make_dict_structure_fn(cls, converter, _cattrs_forbid_extra_keys=True)
    return lambda value, kind: read(_to_mapping(value), kind)


def _tuple_reader(annotation: Any, converter: Converter) -> Any:
    def structure(value: Any, _: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            raise ValueError(f"must be a list, got {value!r}")
        items = tuple_items(annotation, len(value))
        if len(items) != len(value):
            raise ValueError(f"must have {len(items)} items, got {len(value)}")
        return tuple(map(converter.structure, value, items))

    return structure


def _to_mapping(value: Any) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"must be names and values, got {value!r}")
    return value


def _to_exactly(value: Any, kind: Any) -> Any:
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        words = enum_values(kind)
        if type(value) in (int, str) and value in words:
            return words[value]
    elif allows(kind, value):
        return value
    raise ValueError(f"must be {in_words(kind)}, got {value!r}")


def _to_float(value: Any) -> float:
    if type(value) not in (int, float):
        raise ValueError(f"must be a number, got {value!r}")
    return float(value)

"""Configs as YAML files: written by one run, read and edited by people, read back equal.

Values keep their annotated type, written as on the command line: an `int` in digits (`1_000`,
never `1e3` or `1000.0`), a `float` in any usual form, `None`, `True` and `False` as Python has them
(YAML's own `null`, `true` and `false` are read too), an `Enum` or a `Literal` by its exact value.
"""

import os
import re
from pathlib import Path
from typing import Any, TypeVar

import yaml
from cattrs import Converter, transform_error
from cattrs.errors import ForbiddenExtraKeysError

from ..configs import Optimizer
from ..core.errors import UserError
from ..core.pytrees import union_members

T = TypeVar("T")

_FLOAT = re.compile(r"[-+]?(\d[\d_]*(\.\d*)?|\.\d+)([eE][-+]?\d+)?\Z")


def save_config(config: Any, path: Path) -> None:
    """Write a config so that `load_config` gives an equal one, in one indivisible step."""
    text = config_text(config)
    draft = path.with_name(path.name + ".tmp")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)


def config_text(config: Any) -> str:
    """The YAML text of a config."""
    return yaml.safe_dump(_converter().unstructure(config), sort_keys=False, allow_unicode=True)


def load_config(path: Path, default: T) -> T:
    """Read a config; what the file leaves out is taken from `default`.

    Raises:
        UserError: the file is missing or is no YAML mapping, or holds an unknown key or a value of
            the wrong type; the message names file and key.
    """
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: is not a YAML file: {error}") from None
    if content is None:
        content = {}
    if not isinstance(content, dict):
        raise UserError(f"{path}: must hold names and values, such as 'steps: 100'")
    converter = _converter()
    merged = _merge(converter.unstructure(default), content)
    try:
        return converter.structure(merged, type(default))
    except Exception as error:
        lines = transform_error(error, path="", format_exception=_explain)
        raise UserError("\n".join(f"{path}: {_key_first(line)}" for line in lines)) from None


class _Loader(yaml.SafeLoader):
    """The safe loader, with Python's word for nothing, and without silent repetition of keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        mapping = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            raise yaml.constructor.ConstructorError(
                "while reading a mapping", node.start_mark, "a key stands twice", node.start_mark
            )
        return mapping


_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"None\Z"), ["N"])


def _merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """`over` laid on `base`; another member of a union replaces the whole of it."""
    if "name" in over and over["name"] != base.get("name"):
        return over
    merged = dict(base)
    for key, value in over.items():
        nested = isinstance(value, dict) and isinstance(base.get(key), dict)
        merged[key] = _merge(base[key], value) if nested else value
    return merged


def _explain(error: BaseException, _: type | None) -> str:
    if isinstance(error, ForbiddenExtraKeysError):
        return f"unknown key {', '.join(sorted(map(str, error.extra_fields)))}"
    if isinstance(error, (TypeError, AttributeError)):
        return "has the wrong form; `--print-config` shows the right one"
    return str(error)


def _key_first(line: str) -> str:
    """A line of cattrs, `what @ .where`, in the order that people read."""
    what, _, where = line.rpartition(" @ ")
    where = where.lstrip(".")
    return f"{where}: {what}" if where else what


def _converter() -> Converter:
    converter = Converter(forbid_extra_keys=True)
    converter.register_structure_hook(float, lambda value, _: _to_float(value))
    converter.register_structure_hook(int, lambda value, _: _exactly(int, value))
    converter.register_structure_hook(bool, lambda value, _: _exactly(bool, value))
    converter.register_structure_hook(str, lambda value, _: _exactly(str, value))
    converter.register_structure_hook(Path, lambda value, _: Path(_exactly(str, value)))
    converter.register_unstructure_hook(Path, str)
    _register_union(converter, Optimizer)
    return converter


def _register_union(converter: Converter, union: Any) -> None:
    """Write a member of a union with its class in lower case as `name`, and read it back by that.

    The same word chooses it on the command line.
    """
    members = union_members(union)

    def structure(value: Any, _: Any) -> Any:
        if not isinstance(value, dict):
            raise TypeError("not names and values")
        fields = dict(value)
        name = fields.pop("name", None)
        if name not in members:
            raise ValueError(f"name must be one of {', '.join(members)}, got {name!r}")
        return converter.structure(fields, members[name])

    def unstructure(member: Any) -> dict[str, Any]:
        fields = converter.unstructure(member, type(member))
        return {"name": type(member).__name__.lower(), **fields}

    converter.register_structure_hook(union, structure)
    converter.register_unstructure_hook(union, unstructure)


def _exactly(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise ValueError(f"expected {kind.__name__}, got {value!r}")
    return value


def _to_float(value: Any) -> float:
    # YAML 1.1 takes an exponent without a dot, 1e-4, for text.
    is_text = isinstance(value, str) and _FLOAT.match(value)
    if type(value) in (int, float) or is_text:
        return float(value)
    raise ValueError(f"expected a number, got {value!r}")

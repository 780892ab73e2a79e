"""YAML with the few plain values of YAML 1.2, and Python's word for nothing, which is read only.

PyYAML follows YAML 1.1, where `010` is eight, `1:30` is ninety, `no` is false and `1e-4` is text.
"""

import re
from typing import Any

import yaml


class YamlError(Exception):
    """The text is no YAML that is read here."""


_INT = r"[-+]?\d+(_\d+)*"
_PLAIN = {
    "null": (r"None|null|Null|NULL|~|", ["N", "n", "~", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    "int": (_INT, list("-+0123456789")),
    "float": (
        rf"({_INT}(\.(\d+(_\d+)*)?)?|[-+]?\.\d+(_\d+)*)([eE][-+]?\d+)?"
        r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
}


class _Loader(yaml.SafeLoader):
    """The safe loader, without silent repetition of keys."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - a setting of PyYAML, none of YAML 1.1 is kept

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        mapping = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            raise yaml.constructor.ConstructorError(
                "while reading a mapping", node.start_mark, "a key stands twice", node.start_mark
            )
        return mapping


class _Dumper(yaml.SafeDumper):
    """The safe dumper, which puts into quotes all text that either version takes for a value."""


def _int(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    return int(loader.construct_scalar(node))


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    # Without quotes, YAML folds this end of a line to a blank.
    style = '"' if "\x85" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)
_Loader.add_constructor("tag:yaml.org,2002:int", _int)
for _kind, (_pattern, _first) in _PLAIN.items():
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(
            f"tag:yaml.org,2002:{_kind}", re.compile(rf"(?:{_pattern})\Z"), _first
        )


def read_yaml(text: str) -> Any:
    """The value of a YAML document.

    Raises:
        YamlError: the text is not YAML, names Python objects, or repeats a key.
    """
    try:
        return yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlError(str(error)) from None
    except (LookupError, AttributeError):  # of PyYAML, for a tag that its value does not fit
        raise YamlError("a value does not fit the tag before it") from None


def write_yaml(value: Any) -> str:
    """The text of plain values, keys in their own order, for this and any other reader of YAML."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True)

"""The flags of a config, as tyro makes them: how values are written, and how the help looks."""

import contextlib
import io
import re
import shutil
import sys
import textwrap
import types
import typing
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from ..core.errors import UserError
from ..core.pytrees import union_fields

T = TypeVar("T")

_INDENT = 26
"""Where the text on a flag begins, above the boxes of the help as in them."""

_YAML_WORDS = {None: "null", True: "true", False: "false"}

_REGISTRY = ConstructorRegistry()


def read_flags(default: T, argv: Sequence[str], above: str) -> T:
    """The config that flags describe, unchecked.

    Args:
        default: what holds where no flag says otherwise.
        argv: arguments without the program's name.
        above: stands above the flags in the help; see `describe`.

    Raises:
        UserError: a member of a union is chosen twice.
        SystemExit: with status 2 for a flag that does not exist or cannot be read; with 0 after
            `--help`.
    """
    encoding = sys.stdout.encoding or "utf-8"  # a test may print to one without
    page = io.TextIOWrapper(_Page(sys.stdout.isatty()), encoding=encoding, errors="replace")
    try:
        with contextlib.redirect_stdout(page):
            return tyro.cli(
                type(default),
                default=default,
                args=_choices_first(type(default), argv),
                description="",  # tyro would break its lines anew, and drop it after a choice
                config=(
                    tyro.conf.CascadeSubcommandArgs,
                    tyro.conf.FlagConversionOff,
                    tyro.conf.EnumChoicesFromValues,
                ),
                registry=_REGISTRY,
            )
    finally:
        page.seek(0)
        _print_help(page.read(), above)


def describe(*entries: str | tuple[str, str]) -> str:
    """Text for a help, as wide as the terminal: paragraphs, and flags with what they mean."""
    lines = []
    for entry in entries:
        if isinstance(entry, str):
            lines += _wrap(entry) or [""]
            continue
        flag, text = f"  {entry[0]}  ", entry[1]
        if len(flag) > _INDENT:
            lines.append(flag.rstrip())
            flag = ""
        lines += _wrap(text, flag.ljust(_INDENT), " " * _INDENT)
    return "\n".join(lines)


def python_word(word: str, kinds: Sequence[Any]) -> str:
    """A value as Python has it, `None` for `null`, where one of the types of a field takes it."""
    for value, yaml_word in _YAML_WORDS.items():
        if word == yaml_word and type(value) in kinds:
            return str(value)
    return word


@_REGISTRY.primitive_rule
def _exact_words(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    """`None`, `True` and `False` may also be written as files have them: `null`, `true`, `false`.

    The help names the first. Text keeps what it is given: this is for a type of these alone, or for
    a `Literal` that holds one of them.
    """
    values: tuple[Any, ...] = {bool: (True, False), types.NoneType: (None,)}.get(info.type, ())
    if info.type_origin is Literal:
        values = typing.get_args(info.type)
    plain = [value for value in values if value is None or isinstance(value, bool)]
    if not plain:
        return None
    words = {str(value): value for value in values}
    words |= {_YAML_WORDS[value]: value for value in plain if _YAML_WORDS[value] not in words}
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="{" + ",".join(map(str, values)) + "}",
        instance_from_str=lambda args: words[args[0]],
        is_instance=lambda x: any(type(x) is type(value) and x == value for value in values),
        str_from_instance=lambda value: [str(value)],
        choices=tuple(words),
    )


def _choices_first(cls: type, argv: Sequence[str]) -> list[str]:
    """The arguments with words such as `optimizer:sgd` moved to the front, outer unions first.

    tyro would take a flag before the word as one of the default member, and refuse the word.
    """
    words = {
        f"{name.replace('_', '-')}:{word}"
        for name, members in union_fields(cls)
        for word in (*members, "none")
    }
    chosen: dict[str, str] = {}
    for word in argv:
        name = word.partition(":")[0]
        if word in words and name in chosen:
            raise UserError(f"{name}: is chosen twice, as {chosen[name]} and as {word}")
        if word in words:
            chosen[name] = word
    ordered = sorted(chosen.values(), key=lambda word: word.count("."))
    return [*ordered, *(word for word in argv if word not in words)]


class _Page(io.BytesIO):
    """Takes down what is printed, with colours where there would be some."""

    def __init__(self, has_colours: bool):
        super().__init__()
        self._has_colours = has_colours

    def isatty(self) -> bool:
        return self._has_colours


def _print_help(text: str, above: str) -> None:
    """Print what tyro printed; below the usage of a help, the text that stands above the flags."""
    usage, _, boxes = text.partition("\n")
    if "usage:" not in usage:  # nothing, or the completion of a shell
        print(text, end="")
        return
    usage = re.sub(r"\x1b\[[\d;]*m", "", usage)  # colours have a length, and may not be broken
    print("\n".join(_wrap(usage, later=" " * 4)))
    print(f"\n{above}\n\n{boxes.lstrip()}", end="")


def _wrap(text: str, first: str = "", later: str = "") -> list[str]:
    width = max(shutil.get_terminal_size().columns, 2 * _INDENT)
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=later, break_on_hyphens=False
    )

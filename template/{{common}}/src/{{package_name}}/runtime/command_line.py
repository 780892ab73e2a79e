"""From a command line to a config, and from a person's mistake to one clear message."""

import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import tyro

from ..core.checks import validate
from ..core.errors import UserError
from .config_files import load_config

T = TypeVar("T")

_FILE_HELP = "\n\n--config FILE takes the values of a saved config; other flags override it."


def parse(default: T, argv: Sequence[str] | None = None) -> T:
    """The config that a command line describes, checked.

    `--config FILE`, wherever it stands, replaces the defaults by the values of a YAML file; every
    other flag overrides those. Members of a union are chosen by a word such as `optimizer:sgd`, and
    flags may stand before or after it.

    Args:
        default: what holds where neither file nor flag says otherwise.
        argv: arguments without the program's name; those of this process if not given.

    Raises:
        UserError: the file cannot be used, or a value is out of range.
        SystemExit: with status 2 for a flag that does not exist or cannot be read; with 0 after
            `--help`.
    """
    path, flags = _take_config_flag(sys.argv[1:] if argv is None else list(argv))
    if path is not None:
        default = load_config(path, default)
    config = tyro.cli(
        type(default),
        default=default,
        args=flags,
        description=(type(default).__doc__ or "").strip() + _FILE_HELP,
        config=(tyro.conf.CascadeSubcommandArgs,),
    )
    validate(config)
    return config


def user_errors_exit_2(command: Callable[[], None]) -> Callable[[], None]:
    """Let a `UserError` end the process with its message alone and status 2."""

    @functools.wraps(command)
    def wrapped() -> None:
        try:
            command()
        except UserError as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(2)

    return wrapped


def _take_config_flag(argv: list[str]) -> tuple[Path | None, list[str]]:
    path, rest, words = None, [], iter(argv)
    for word in words:
        name, equals, value = word.partition("=")
        if name != "--config":
            rest.append(word)
            continue
        if path is not None:
            raise UserError("--config: give it once")
        value = value if equals else next(words, "")
        if not value:
            raise UserError("--config: name a file, such as --config runs/default/config.yaml")
        path = Path(value)
    return path, rest

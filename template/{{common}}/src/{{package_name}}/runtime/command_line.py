"""From a command line to a config, and from a person's mistake to one clear message.

Values are written the same way here, in files and in the help: an `int` in digits (`1_000`, never
`1e3`), a `float` in any usual form, `None`, `True` and `False` as Python has them, an `Enum` or a
`Literal` by its exact value.
"""

import argparse
import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

import tyro

from ..configs import TrainConfig
from ..core.checks import validate
from ..core.errors import TrainingError, UserError
from ..core.pytrees import union_fields
from ..presets import PRESETS
from .checking import check_run
from .config_files import config_text, load_config
from .processes import join_processes
from .run_folder import CONFIG_FILE

T = TypeVar("T")


def parse(
    default: T,
    argv: Sequence[str] | None = None,
    description: str = "",
    check: Callable[[T], None] = validate,
) -> T:
    """The config that a command line describes, checked.

    Members of a union are chosen by a word such as `optimizer:sgd`, and flags may stand before or
    after it.

    Args:
        default: what holds where no flag says otherwise.
        argv: arguments without the program's name; those of this process if not given.
        description: stands above the flags in the help; the docstring of the config if not given.
        check: raises a UserError where the config cannot be used.

    Raises:
        UserError: a value is out of range.
        SystemExit: with status 2 for a flag that does not exist or cannot be read; with 0 after
            `--help`.
    """
    config = tyro.cli(
        type(default),
        default=default,
        args=_choices_first(type(default), sys.argv[1:] if argv is None else argv),
        description=description or type(default).__doc__,
        config=(
            tyro.conf.CascadeSubcommandArgs,
            tyro.conf.FlagConversionOff,
            tyro.conf.EnumChoicesFromValues,
        ),
    )
    check(config)
    return config


def parse_train(argv: Sequence[str] | None = None) -> TrainConfig:
    """The config of a training run: a preset, overridden by a file, overridden by flags.

    Raises:
        UserError: preset, file or data cannot be used, or a value is out of range.
        SystemExit: as `parse`, and with 0 after `--print-config`.
    """
    start, flags = _start_parser().parse_known_args(argv)
    preset = _at_most_one("--preset", start.preset) or "default"
    if preset not in PRESETS:
        raise UserError(f"--preset: must be one of {', '.join(PRESETS)}, got {preset}")
    default = PRESETS[preset]
    path = _at_most_one("--config", start.config)
    if path is not None:
        default = load_config(path / CONFIG_FILE if path.is_dir() else path, default)

    def check(config: TrainConfig) -> None:
        validate(config)
        if not start.print_config:  # for which neither data nor devices are needed
            _join(start)
            check_run(config)

    config = parse(default, flags, _train_description(), check)
    if start.print_config:
        print(config_text(config), end="")
        sys.exit(0)
    return config


def readable_errors(command: Callable[[], None]) -> Callable[[], None]:
    """Let errors that are meant for people end the process with their message alone.

    The status is 2 for a mistake in the input, 1 where training or the system cannot go on, 130 for
    Ctrl-C.
    """

    @functools.wraps(command)
    def wrapped() -> None:
        try:
            command()
        except UserError as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(2)
        except TrainingError as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(1)
        except OSError as error:  # a full disk, a file where a folder should be
            print(f"error: {error}", file=sys.stderr)
            sys.exit(1)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            sys.exit(130)

    return wrapped


class _StartParser(argparse.ArgumentParser):
    """Takes the flags that say what to start from, and leaves all others alone."""

    def error(self, message: str) -> NoReturn:
        raise UserError(message.removeprefix("argument "))


def _start_parser() -> _StartParser:
    parser = _StartParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--preset", action="append", default=[])
    parser.add_argument("--config", action="append", default=[], type=Path)
    parser.add_argument("--print-config", action="store_true")
    parser.add_argument("--distributed", action="store_true")
    parser.add_argument("--coordinator")
    parser.add_argument("--num-processes", type=int)
    parser.add_argument("--process-id", type=int)
    parser.add_argument("--local-device-ids", type=_integers)
    parser.add_argument("--join-timeout", type=int, default=300)
    return parser


def _integers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def _join(start: argparse.Namespace) -> None:
    """Wait for the other processes of the job, if the command line says that there are any."""
    names = ("--coordinator", "--num-processes", "--process-id")
    values = (start.coordinator, start.num_processes, start.process_id)
    missing = [name for name, value in zip(names, values, strict=True) if value is None]
    if 0 < len(missing) < len(names):
        raise UserError(f"{', '.join(missing)}: missing; the three belong together")
    if not missing or start.distributed:
        join_processes(*values, start.local_device_ids, start.join_timeout)
    elif start.local_device_ids is not None:
        raise UserError("--local-device-ids: only together with --distributed or --coordinator")


def _at_most_one(flag: str, values: list[T]) -> T | None:
    if len(values) > 1:
        raise UserError(f"{flag}: give it once")
    return values[0] if values else None


def _choices_first(cls: type, argv: Sequence[str]) -> list[str]:
    """The arguments with words such as `optimizer:sgd` moved to the front.

    tyro would take a flag before the word as one of the default member, and refuse the word.
    """
    words = {
        f"{name.replace('_', '-')}:{word}"
        for name, members in union_fields(cls)
        for word in (*members, "none")
    }
    return sorted(argv, key=lambda word: word not in words)


def _train_description() -> str:
    return "\n".join(
        [
            (TrainConfig.__doc__ or "").strip(),
            "",
            "What to start from; every flag below overrides it:",
            f"  --preset NAME    {', '.join(PRESETS)} (presets.py)",
            "  --config FILE    a saved config.yaml, or the folder of a run",
            "  --print-config   print the config that would be used, and stop",
            "",
            "Several processes, one model (docs/scaling.md):",
            "  --distributed    ask Slurm, Open MPI, Kubernetes or the TPU pod who the others are",
            "  --coordinator HOST:PORT --num-processes N --process-id I   or say it yourself",
            "  --local-device-ids 0,1   devices of this process; --join-timeout SECONDS (300)",
        ]
    )

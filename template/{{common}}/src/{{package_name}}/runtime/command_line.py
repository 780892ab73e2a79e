"""From a command line to a config, and from a person's mistake to one clear message.

Values are written the same way here, in files and in the help: an `int` in digits (`1_000`, never
`1e3`), a `float` in any usual form, `None`, `True` and `False` as Python has them or `null`, `true`
and `false` as YAML has, an `Enum` or a `Literal` by its exact value.
"""

import argparse
import dataclasses
import errno
import functools
import io
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, TypeVar

import jax

from ..configs import TrainConfig
from ..core.checks import find_problems, validate
from ..core.errors import TrainingError, UserError, first_line
from ..presets import PRESETS
from .checking import check_run
from .compile_cache import use_compile_cache
from .config_files import config_text, load_config
from .devices import fake_devices
from .flags import describe, read_flags
from .processes import add_process_flags, join_by_flags, say
from .run_folder import CONFIG_FILE
from .startup import START

T = TypeVar("T")


def parse(
    default: T,
    argv: Sequence[str] | None = None,
    description: str = "",
    check: Callable[[T], None] = validate,
) -> T:
    """The config that a command line describes, checked; what is compiled from then on is kept.

    Members of a union are chosen by a word such as `optimizer:sgd`, and flags may stand before or
    after it.

    Args:
        default: what holds where no flag says otherwise.
        argv: arguments without the program's name; those of this process if not given.
        description: stands above the flags in the help; the docstring of the config if not given.
        check: raises a UserError where the config cannot be used.

    Raises:
        UserError: a value is out of range, or a member of a union is chosen twice.
        SystemExit: with status 2 for a flag that does not exist or cannot be read; with 0 after
            `--help`.
    """
    argv = sys.argv[1:] if argv is None else argv
    config = read_flags(default, argv, description or describe(type(default).__doc__ or ""))
    START.mark("imports")
    use_compile_cache(getattr(config, "compile_cache", True))
    check(config)
    START.mark("data")
    return config


def parse_train(argv: Sequence[str] | None = None) -> TrainConfig:
    """The config of a training run: a preset, overridden by a file, overridden by flags.

    Raises:
        UserError: preset, file or data cannot be used, or a value is out of range.
        SystemExit: as `parse`, and with 0 after `--print-config`.
    """
    parser = start_parser()
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--fake-devices", type=int)
    add_process_flags(parser)
    start, flags = parser.parse_known_args(argv)

    def check(config: TrainConfig) -> None:
        if start.print_config:  # for which neither data nor devices are needed
            return validate(config)
        if start.distributed or start.coordinator:
            validate(config)  # before anyone waits for others
        if start.fake_devices is not None:
            fake_devices(start.fake_devices, start.dry_run)
        join_by_flags(start)
        check_run(config)

    above = start_help(TrainConfig.__doc__ or "", *_TRAIN_HELP)
    default = start_config(start)
    with faults_of_file_named(start, default):
        config = parse(default, flags, above, check)
    if start.print_config:
        print_config(config)
    if start.dry_run:
        # Imported when needed: --help need not wait for it.
        from .preflight import preflight

        for line in preflight(config):
            say(line)
        sys.exit(0)
    return config


_TRAIN_HELP = (
    "To know before:",
    ("--dry-run", "compile, print size, memory and where arrays go, and stop"),
    ("--fake-devices N", "with it: as on a machine that has N devices"),
    "",
    "Several processes, one model (docs/scaling.md):",
    ("--distributed", "ask Slurm, Open MPI, Kubernetes or the TPU pod who the others are"),
    ("--coordinator HOST:PORT --num-processes N --process-id I", "or say it yourself"),
    ("--local-device-ids 0,1", "devices of this process"),
    ("--join-timeout SECONDS", "how long to wait for the others; 300 if not given"),
)


def start_parser() -> argparse.ArgumentParser:
    """Takes the flags that say what to start from, and leaves all others alone."""
    parser = _StartParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--preset", action="append", default=[])
    parser.add_argument("--config", action="append", default=[], type=_path)
    parser.add_argument("--print-config", action="store_true")
    return parser


def start_config(start: argparse.Namespace) -> TrainConfig:
    """The config that `--preset` and `--config` name.

    A folder stands for the run in it, wherever it was moved or copied to: it is the run folder. A
    file by itself says which is.

    Raises:
        UserError: preset or file cannot be used.
    """
    preset, path = _at_most_one("--preset", start.preset), _at_most_one("--config", start.config)
    default = _preset("default" if preset is None else preset)
    if path is None:
        return default
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except OSError as error:
        raise UserError(f"--config: cannot be read ({error.strerror}): {path}") from None
    if not is_folder:
        return load_config(path, default)
    file = path / CONFIG_FILE
    if file.is_file() and not file.stat().st_size:
        raise UserError(f"--config: {file} is empty: the config of this run is lost")
    return dataclasses.replace(load_config(file, default), run_dir=path)


@contextmanager
def faults_of_file_named(start: argparse.Namespace, default: TrainConfig) -> Iterator[None]:
    """Put the name of the file that `--config` gives before what is wrong in it, and still is.

    Flags may mend what a file has, so it is not judged before them.

    Args:
        start: what says where the config started from.
        default: that start, as `start_config` gave it.
    """
    try:
        yield
    except UserError as error:
        if not start.config:
            raise
        of_file = {f"{name}: {message}" for name, message in find_problems(default)}
        lines = str(error).splitlines()
        named = [f"{start.config[0]}: {line}" if line in of_file else line for line in lines]
        raise UserError("\n".join(named)) from None


def _preset(name: str) -> TrainConfig:
    if name not in PRESETS:
        raise UserError(f"--preset: must be one of {', '.join(PRESETS)}, got {name!r}")
    config: object = PRESETS[name]
    if not isinstance(config, TrainConfig):
        raise UserError(f"preset {name} (presets.py): must be a TrainConfig, got {config!r}")
    try:
        validate(config)
    except UserError as error:
        raise UserError(f"preset {name} (presets.py): cannot be used\n{error}") from None
    return config


def start_help(summary: str, *more: str | tuple[str, str]) -> str:
    """What stands above the flags in the help; `more` is on flags of one script, as `describe`."""
    return describe(
        summary,
        "",
        *more,
        "",
        "What to start from; every flag below overrides it:",
        ("--preset NAME", f"{', '.join(PRESETS)} (presets.py)"),
        ("--config FILE", "a saved config.yaml, or the folder of a run"),
        ("--print-config", "print the config that would be used, and stop"),
    )


def print_config(config: TrainConfig) -> NoReturn:
    """Print a config as a file that `--config` takes, in UTF-8 as it, and end the process."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    print(config_text(config), end="")
    sys.exit(0)


def readable_errors(command: Callable[[], None]) -> Callable[[], None]:
    """Let errors that are meant for people end the process with their message alone.

    The status is 2 for a mistake in the input, 1 where training or the system cannot go on, 130 for
    Ctrl-C. What a terminal cannot show is printed as stderr does: no text ends the process.
    """

    @functools.wraps(command)
    def wrapped() -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            command()
        except UserError as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(2)
        except TrainingError as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(1)
        except jax.errors.JaxRuntimeError as error:
            if "RESOURCE_EXHAUSTED" not in str(error):
                raise
            reason = first_line(error)
            print(f"error: there is not enough memory: {reason}\n{_LESS_MEMORY}", file=sys.stderr)
            sys.exit(1)
        except OSError as error:
            path = "" if error.filename is None else f"{error.filename}: "
            print(f"error: {path}{error.strerror or error}", file=sys.stderr)
            # A path that cannot be used is a mistake in the input; a full disk is none.
            sys.exit(2 if error.errno in _OF_A_PATH else 1)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            sys.exit(130)

    return wrapped


_OF_A_PATH = (
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG),
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST),
)

_LESS_MEMORY = (
    "What helps: a smaller model or batch, --accumulate, --mesh.fsdp on several devices, and "
    "--loader.stream True for large data. --dry-run says what takes how much."
)


class _StartParser(argparse.ArgumentParser):
    """Reports mistakes as everything else does."""

    def error(self, message: str) -> NoReturn:
        raise UserError(message.removeprefix("argument "))


def _at_most_one(flag: str, values: list[T]) -> T | None:
    if len(values) > 1:
        raise UserError(f"{flag}: give it once")
    return values[0] if values else None


def _path(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("must be a file or the folder of a run, got nothing")
    return Path(text)

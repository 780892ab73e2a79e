"""The folder of a run: what may become one, and which changes a continued run accepts."""

import dataclasses
import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from ..configs import TrainConfig
from ..core.checks import validate
from ..core.errors import UserError
from ..core.pytrees import data_fields, is_config
from .config_files import load_config, save_config
from .processes import on_leader
from .yaml_text import YamlError, read_yaml

CONFIG_FILE = "config.yaml"
METRICS_FILE = "metrics.jsonl"
FIGURES = "figures"
CHECKPOINTS = "checkpoints"
CHANGES_FILE = "changes.txt"
LOCK_FILE = ".lock"

_LEFTOVERS = (LOCK_FILE, CONFIG_FILE + ".tmp")
"""What a run that was killed before its first step leaves behind."""


def open_folder(config: TrainConfig) -> list[str]:
    """Make the run folder, if a config may start a run in it or continue the one that is there.

    Its `config.yaml` is not touched: it describes what was trained, until training goes on.

    Returns:
        One line for each field that differs from what the run had before.

    Raises:
        UserError: the folder cannot be written, is not a run, or holds one that this config cannot
            continue.
    """
    run_dir, changes = config.run_dir, []
    make_folder(run_dir)
    if _is_run(run_dir):
        changes = accepted_changes(read_config(run_dir), config)
    elif _has_files(run_dir):
        raise UserError(
            f"run_dir: {run_dir} is not empty and is not the folder of a run; "
            "choose another folder, or empty this one"
        )
    make_folder(run_dir / CHECKPOINTS)
    return changes


def _is_run(folder: Path) -> bool:
    """Whether its `config.yaml` is that of a run; others call theirs so, too."""
    path = folder / CONFIG_FILE
    if not path.exists() or (folder / CHECKPOINTS).is_dir():
        return path.exists()
    try:
        content = read_yaml(path.read_text(encoding="utf-8"))
    except (OSError, YamlError, UnicodeDecodeError):
        return False
    return isinstance(content, dict) and {"run_dir", "steps", "seed"} <= set(content)


def _has_files(folder: Path) -> bool:
    """Whether it holds more than a start that was killed leaves there."""
    try:
        files = [path.name for path in folder.rglob("*") if path.is_file()]
    except OSError as error:
        raise UserError(f"run_dir: cannot read {error.filename} ({error.strerror})") from None
    return any(name not in _LEFTOVERS for name in files)


def make_folder(folder: Path) -> None:
    """Make the folder of a run, or one in it.

    Raises:
        UserError: it cannot be made, or its files cannot be read and written.
    """
    missing = [path for path in (folder, *folder.parents) if not os.path.exists(path)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        for path in missing:  # nothing is left behind
            with suppress(OSError):
                path.rmdir()
        raise UserError(f"run_dir: cannot use {folder} ({error.strerror})") from None


@contextmanager
def lock_folder(run_dir: Path) -> Iterator[None]:
    """Keep other runs from training in the same folder.

    The system lets go of the lock when the process ends, however it ends.

    Raises:
        UserError: another run trains there.
    """
    lock = FileLock(run_dir / LOCK_FILE, timeout=0)
    try:
        on_leader(lock.acquire)
    except Timeout:
        raise UserError(
            f"run_dir: another process is training in {run_dir}; wait for it, or choose another"
        ) from None
    try:
        yield
    finally:
        lock.release()


def write_config(config: TrainConfig, step: int = 0, changes: Sequence[str] = ()) -> None:
    """Say in the run folder what is trained from `step` on, and what was changed there."""
    if changes:
        with (config.run_dir / CHANGES_FILE).open("a", encoding="utf-8") as file:
            file.writelines(f"step {step}, {line}\n" for line in changes)
    save_config(config, config.run_dir / CONFIG_FILE)


def read_config(run_dir: Path) -> TrainConfig:
    """The config of the run in a folder.

    Raises:
        UserError: there is no run, or its config is damaged.
    """
    path = run_dir / CONFIG_FILE
    if not path.exists():
        raise UserError(f"run_dir: {run_dir} holds no run ({CONFIG_FILE} is missing)")
    if path.is_file() and not path.stat().st_size:
        raise UserError(f"{path} is empty: the config of this run is lost")
    config = load_config(path, TrainConfig())
    try:
        validate(config)
    except UserError as error:
        raise UserError(f"{path} was changed by hand?\n{error}") from None
    return config


def younger_fields(run_dir: Path, config: TrainConfig) -> list[str]:
    """One line for each field of the model that came into the project after this run.

    It has its default, under which the run may never have been trained.
    """
    path = run_dir / CONFIG_FILE
    content = read_yaml(path.read_text(encoding="utf-8")) or {}  # nothing but comments is no value
    held = content.get("model") or {}
    names = [field.name for field in dataclasses.fields(config.model) if field.name not in held]
    return [
        f"note: {path} has no model.{name}: {getattr(config.model, name)} is used" for name in names
    ]


def accepted_changes(old: Any, new: Any) -> list[str]:
    """What differs between two configs of a run, a line for each field.

    Args:
        old: the TrainConfig with which the run was trained so far.
        new: the one with which it is to go on.

    Raises:
        UserError: a change would give the state another shape, or the data another order.
    """
    before, after = dict(_values(old)), dict(_values(new))
    names = [n for n in after if n in before and before[n] != after[n] and n != "run_dir"]
    # Fields of another class say nothing beside its name.
    names = [name for name in names if not any(name.startswith(f"{n}.") for n in names)]
    was = {name: f"this run has {before[name].shown}, not {after[name].shown}" for name in names}
    refused = [f"{n}: {was[n]}" for n in names if _is_fixed(n, before[n], after[n])]
    if _has_ema(old) != _has_ema(new):
        refused.append(f"ema_decay: this run has {old.ema_decay}, not {new.ema_decay}")
    if refused:
        where = f"run_dir: {new.run_dir} holds a run that this config cannot continue;"
        raise UserError("\n".join([f"{where} use the run's values, or another folder", *refused]))
    return [f"changed: {n} was {before[n].shown}, is now {after[n].shown}" for n in names]


class _Value(NamedTuple):
    shown: Any
    """What a field holds; of a nested config the name of its class."""
    is_structure: bool


def _values(config: Any, prefix: str = "") -> Iterator[tuple[str, _Value]]:
    """Each field with its dotted name, nested configs opened."""
    for field in dataclasses.fields(config):
        value, name = getattr(config, field.name), prefix + field.name
        if is_config(value):
            yield name, _Value(type(value).__name__, is_structure=True)
            yield from _values(value, name + ".")
        else:
            yield name, _Value(value, field.name not in data_fields(type(config)))


def _is_fixed(name: str, before: _Value, after: _Value) -> bool:
    """Whether a change of this field gives the state another shape, or the data another order."""
    is_structure = before.is_structure or after.is_structure
    return name in ("seed", "optimizer") or (name.startswith("model.") and is_structure)


def _has_ema(config: Any) -> bool:
    return config.ema_decay is not None

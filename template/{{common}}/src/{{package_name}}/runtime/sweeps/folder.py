"""The folder of a sweep: whether it holds this sweep, and how far the members came."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ...configs import TrainConfig
from ...core.errors import UserError
from ...core.pytrees import register_configs, union_fields
from ..config_files import config_text, load_config, save_config
from ..run_folder import LOCK_FILE
from ..yaml_text import read_yaml
from .options import Sweep

RESULTS_FILE = "results.csv"
COMMON_FILE = "sweep.yaml"

_STATUSES = ("waiting", "running", "dropped", "not finite", "done")
_MAY_DIFFER = (
    *("run_dir", "keep_checkpoints", "keep_best", "compile_cache"),
    *("debug_nans", "profile", "loader", "mesh"),
)
"""Fields of a config that change no result."""
_SHOWN = 8
"""Differences that an error lists."""


@dataclass
class Row:
    """How far a member has come."""

    member: int
    group: int
    """Members of one group are trained together."""
    status: str = "waiting"
    """waiting, running, dropped (by halving), not finite (for good), or done."""
    step: int = 0
    """The step of `metrics`."""
    metrics: dict[str, float] = field(default_factory=dict)
    """The newest evaluation."""


@dataclass(frozen=True, kw_only=True)
class _Common:
    """What sweep.yaml holds: all that results.csv does not say."""

    config: TrainConfig
    """Of the first member."""

    halve_every: int | None = None
    """As in `Sweep`."""

    members: int = 0
    """How many there are. It stands last: a file that was cut has none."""


register_configs(_Common)


def save_common(sweep: Sweep) -> None:
    """Write sweep.yaml."""
    save_config(_common(sweep), sweep.run_dir / COMMON_FILE)


def find_rows(sweep: Sweep) -> list[Row] | None:
    """How far the members of a sweep came before; None if the folder is new.

    Raises:
        UserError: the folder cannot be read, is damaged, or holds something else.
    """
    folder, path = sweep.run_dir, sweep.run_dir / RESULTS_FILE
    try:
        if not path.exists():
            left = (LOCK_FILE, COMMON_FILE, RESULTS_FILE + ".tmp", COMMON_FILE + ".tmp")
            if any(path.is_file() and path.name not in left for path in folder.rglob("*")):
                raise UserError(
                    f"run_dir: {folder} is not empty and is not the folder of a sweep; "
                    "choose another folder, or empty this one"
                )
            return None
        common = _read_common(sweep)
        with path.open(encoding="utf-8", newline="") as file:
            table = list(csv.DictReader(file, strict=True))
    except OSError as error:
        raise UserError(f"run_dir: cannot read {folder} ({error.strerror})") from None
    except (csv.Error, UnicodeDecodeError):
        _refuse_damage(sweep, RESULTS_FILE, "it is no table")
    if [line.get("member") for line in table] != [str(n) for n in range(common.members)]:
        what = f"it should have a row for each of {common.members} members"
        _refuse_damage(sweep, RESULTS_FILE, what)
    if lost := [name for name in ("group", "status", "step") if name not in table[0]]:
        _refuse_damage(sweep, RESULTS_FILE, f"there is no column {', '.join(lost)}")
    if any(None in line or None in line.values() for line in table):
        _refuse_damage(sweep, RESULTS_FILE, "its rows are not of one length")
    if lines := list(_differences(common, table, sweep)):
        rest = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
        where = f"run_dir: {folder} holds a sweep of other settings; repeat its command, or choose"
        raise UserError("\n".join([f"{where} another folder", *lines[:_SHOWN], *rest]))
    try:
        return [_row(line, common.config.steps) for line in table]
    except ValueError as error:
        _refuse_damage(sweep, RESULTS_FILE, str(error))


def describe_members(sweep: Sweep) -> list[dict[str, str]]:
    """What sets each member apart, as text."""
    return [
        {
            "member": str(number),
            "setting": str(member.setting),
            "seed": str(member.config.seed),
            **{name: in_text(value) for name, value in member.values.items()},
        }
        for number, member in enumerate(sweep.members)
    ]


def in_text(value: Any) -> str:
    """A value of a config as it is written on the command line."""
    return " ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def _common(sweep: Sweep) -> _Common:
    return _Common(
        config=sweep.members[0].config,
        halve_every=sweep.halve_every,
        members=len(sweep.members),
    )


def _read_common(sweep: Sweep) -> _Common:
    path = sweep.run_dir / COMMON_FILE
    if not path.exists():
        raise UserError(f"run_dir: {path} is missing; put it back, or choose another folder")
    try:
        common = load_config(path, _Common(config=sweep.members[0].config))
    except UserError as error:
        _refuse_damage(sweep, COMMON_FILE, str(error))
    if common.members < 1:
        _refuse_damage(sweep, COMMON_FILE, "its end is missing")
    return common


def _refuse_damage(sweep: Sweep, name: str, what: str) -> NoReturn:
    raise UserError(
        f"run_dir: {sweep.run_dir / name} is damaged ({what}); put back what was there, "
        "or choose another folder"
    ) from None


def _row(line: Mapping[str, str], last: int) -> Row:
    cells = {name: text for name, text in line.items() if name.startswith("eval/")}
    metrics = {name: float(text) for name, text in cells.items() if text}
    row = Row(int(line["member"]), int(line["group"]), line["status"], int(line["step"]), metrics)
    where = f"member {row.member}: "
    if row.status not in _STATUSES:
        raise ValueError(f"{where}status {row.status}")
    if not 0 <= row.step <= last or (row.status == "done" and row.step < last):
        raise ValueError(f"{where}{row.status} at step {row.step} of {last}")
    if row.step and (not cells or len(metrics) < len(cells)):
        raise ValueError(f"{where}{row.status} at step {row.step} without eval/...")
    return row


def _differences(
    common: _Common, table: Sequence[Mapping[str, str]], sweep: Sweep
) -> Iterator[str]:
    """One line for each field that differs between the folder and a sweep."""
    chosen = describe_members(sweep)
    found = [{name: line.get(name, "") for name in chosen[0]} for line in table]
    before, after = _values(common, table), _values(_common(sweep), chosen)
    lines = [
        f"{name}: that sweep has {before.get(name, 'nothing')}, not {after.get(name, 'nothing')}"
        for name in after | before
        if before.get(name) != after.get(name)
    ]
    if not lines and found != chosen:
        lines = ["the order or the choice of the settings differs"]
    yield from lines


def _values(common: _Common, table: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The value of each field that matters, or all the values that it has in the members."""
    fixed = {"--halve-every": str(common.halve_every)}
    fixed |= dict(_flat(read_yaml(config_text(common.config))))
    names = [
        name
        for name in table[0]
        if name not in ("member", "setting", "group", "status", "step")
        and not name.startswith("eval/")
    ]
    swept = {name: ", ".join(dict.fromkeys(line[name] for line in table)) for name in names}
    return {n: v for n, v in (fixed | swept).items() if n.split(".")[0] not in _MAY_DIFFER}


def _flat(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """The values of a config file with their dotted names; a member of a union by its field's."""
    unions = [name for name, _ in union_fields(TrainConfig)]
    for key, value in content.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            field = prefix.removesuffix(".")
            yield field if key == "name" and field in unions else prefix + key, in_text(value)

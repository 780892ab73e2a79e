"""What a sweep leaves in its folder, and what it finds there when it goes on."""

import csv
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from ..core.errors import UserError
from .config_files import config_text, save_config
from .run_folder import LOCK_FILE, METRICS_FILE
from .sweep_options import Sweep
from .tracking import json_line, read_metrics

RESULTS_FILE = "results.csv"
BEST_FILE = "best.yaml"
COMMON_FILE = "sweep.yaml"
GROUPS = "groups"

HIGHER_IS_BETTER = ("accuracy",)
"""Metrics of which more is better; of all others, less."""


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


class SweepResults:
    """results.csv, a row a member, and metrics.jsonl, a line a member and chunk."""

    def __init__(self, sweep: Sweep, rows: list[Row]):
        """Open the files; lines of metrics.jsonl after the steps of the rows' groups are dropped.

        Args:
            sweep: what is trained.
            rows: of all members, in their order.
        """
        self.sweep, self.rows = sweep, rows
        self.folder = sweep.run_dir
        save_config(sweep.members[0].config, self.folder / COMMON_FILE)
        self.write()
        kept = [line for line in read_metrics(self.folder) if self._is_kept(line)]
        draft = self.folder / (METRICS_FILE + ".tmp")
        draft.write_text("".join(json_line(line) + "\n" for line in kept), encoding="utf-8")
        os.replace(draft, self.folder / METRICS_FILE)
        self._log = (self.folder / METRICS_FILE).open("a", encoding="utf-8")

    def __enter__(self) -> "SweepResults":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._log.close()

    def log(self, member: int, step: int, metrics: Mapping[str, float]) -> None:
        """Append a line to metrics.jsonl."""
        self._log.write(json_line({"member": member, "step": step, **metrics}) + "\n")
        self._log.flush()

    def write(self) -> None:
        """Write results.csv anew, in one indivisible step."""
        names = sorted({name for row in self.rows for name in row.metrics})
        table = []
        for row, chosen in zip(self.rows, _chosen(self.sweep), strict=True):
            values = {name: row.metrics.get(name, "") for name in names}
            how = {"group": row.group, "status": row.status, "step": row.step}
            table.append({**chosen, **how, **values})
        draft = self.folder / (RESULTS_FILE + ".tmp")
        with draft.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(table)
        os.replace(draft, self.folder / RESULTS_FILE)

    def group_folder(self, group: int) -> Path:
        """Where the states of a group are kept until it is done."""
        return self.folder / GROUPS / str(group)

    def saved_step(self, group: int) -> int:
        """The step that a group goes on from."""
        names = [path.name for path in self.group_folder(group).glob("checkpoints/*")]
        return max((int(name) for name in names if name.isdigit()), default=0)

    def ranking(self, metric: str) -> list[tuple[float, int]]:
        """Mean of a held-out metric over the seeds of each setting, the best first.

        Settings that were dropped come after those that were trained longer.

        Returns:
            The mean and the number of the setting; nan where a member has no finite value.
        """
        means, steps = {}, {}
        for row, member in zip(self.rows, self.sweep.members, strict=True):
            value = row.metrics.get(f"eval/{metric}", math.nan)
            value = math.nan if row.status == "not finite" else value
            means.setdefault(member.setting, []).append(value)
            steps[member.setting] = row.step
        means = {setting: math.fsum(v) / len(v) for setting, v in means.items()}
        sign = -1.0 if metric in HIGHER_IS_BETTER else 1.0

        def worth(setting: int) -> tuple[bool, int, float]:
            finite = math.isfinite(means[setting])
            return not finite, -steps[setting], sign * means[setting] if finite else 0.0

        return [(means[setting], setting) for setting in sorted(means, key=worth)]

    def write_best(self, metric: str) -> int:
        """Write the config of the best member of the best setting, ready to be trained again.

        Returns:
            The member.
        """
        _, setting = self.ranking(metric)[0]
        rows = [row for row in self.rows if self.sweep.members[row.member].setting == setting]
        sign = -1.0 if metric in HIGHER_IS_BETTER else 1.0
        best = min(rows, key=lambda row: sign * row.metrics[f"eval/{metric}"])
        config = self.sweep.members[best.member].config
        save_config(replace(config, run_dir=self.folder / "best"), self.folder / BEST_FILE)
        return best.member

    def _is_kept(self, line: Mapping[str, Any]) -> bool:
        member = line.get("member")
        if not isinstance(member, int) or not 0 <= member < len(self.rows):
            return False
        row = self.rows[member]
        return row.status in ("done", "dropped") or line["step"] <= self.saved_step(row.group)


def find_rows(sweep: Sweep) -> list[Row] | None:
    """How far the members of a sweep came before; None if the folder is new.

    Raises:
        UserError: the folder cannot be read, or holds something else.
    """
    folder = sweep.run_dir
    try:
        if not (folder / RESULTS_FILE).exists():
            left = (LOCK_FILE, COMMON_FILE, RESULTS_FILE + ".tmp", COMMON_FILE + ".tmp")
            if any(path.is_file() and path.name not in left for path in folder.rglob("*")):
                raise UserError(
                    f"run_dir: {folder} is not empty and is not the folder of a sweep; "
                    "choose another folder, or empty this one"
                )
            return None
        common = (folder / COMMON_FILE).read_text(encoding="utf-8")
        with (folder / RESULTS_FILE).open(encoding="utf-8", newline="") as file:
            table = list(csv.DictReader(file))
        same = common == config_text(sweep.members[0].config)
        chosen = _chosen(sweep)
        if not same or [{k: line.get(k) for k in chosen[0]} for line in table] != chosen:
            raise UserError(
                f"run_dir: {folder} holds a sweep of other settings; repeat its command, "
                "or choose another folder"
            )
        return [_row(line) for line in table]
    except OSError as error:
        raise UserError(f"run_dir: cannot read {folder} ({error.strerror})") from None
    except (KeyError, ValueError):
        raise UserError(f"run_dir: {folder / RESULTS_FILE} is damaged") from None


def _row(line: Mapping[str, str]) -> Row:
    metrics = {name: float(v) for name, v in line.items() if name.startswith("eval/") and v}
    return Row(int(line["member"]), int(line["group"]), line["status"], int(line["step"]), metrics)


def _chosen(sweep: Sweep) -> list[dict[str, str]]:
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
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)

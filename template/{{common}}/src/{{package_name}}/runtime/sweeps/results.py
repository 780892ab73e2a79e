"""What a sweep writes into its folder while it goes on."""

import csv
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from ...configs import MeshConfig
from ...training.metrics import HIGHER_IS_BETTER
from ..checkpointing import Checkpoints
from ..config_files import save_config
from ..run_folder import CHECKPOINTS
from ..tracking import json_line, open_log
from .folder import RESULTS_FILE, Row, describe_members, save_common
from .options import Sweep

BEST_FILE = "best.yaml"
GROUPS = "groups"


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
        save_common(sweep)
        groups = dict.fromkeys(row.group for row in rows)
        self.saved_step = {group: self._sound_step(group) for group in groups}
        """The step that each group goes on from."""
        self._take_back_drops()
        self.write()
        self._log = open_log(self.folder, self._is_kept)

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
        for row, chosen in zip(self.rows, describe_members(self.sweep), strict=True):
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

    def is_open(self, row: Row) -> bool:
        """Whether a member is still to be trained, as far as it can be."""
        last = self.sweep.members[row.member].config.steps
        at_end = row.status == "not finite" and row.step >= last
        return row.status not in ("done", "dropped") and not at_end

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
        config = replace(
            self.sweep.members[best.member].config,
            run_dir=self.folder / "best",
            mesh=MeshConfig(data=1),  # on one device, as it was trained
        )
        save_config(config, self.folder / BEST_FILE)
        return best.member

    def _take_back_drops(self) -> None:
        """Of a group that goes back, also members that were dropped later: its save holds them."""
        for group in {row.group for row in self.rows if self.is_open(row)}:
            for row in self.rows:
                late = row.group == group and row.step > self.saved_step[group]
                row.status = "running" if late and row.status == "dropped" else row.status

    def _is_kept(self, line: Mapping[str, float]) -> bool:
        member = line.get("member")
        if not isinstance(member, int) or not 0 <= member < len(self.rows):
            return False
        row = self.rows[member]
        return not self.is_open(row) or line["step"] <= self.saved_step[row.group]

    def _sound_step(self, group: int) -> int:
        """The newest step of a group that is sound; saves that are damaged are moved aside."""
        folder = self.group_folder(group)
        if not (folder / CHECKPOINTS).exists():
            return 0
        with Checkpoints(folder) as saved:
            count, step = len(saved.steps()), saved.newest_sound()
            saved.set_aside_damaged()
        if count and step is None:
            text = f"warning: no save of group {group} is sound; it is trained from its start"
            print(text, file=sys.stderr)
        return step or 0

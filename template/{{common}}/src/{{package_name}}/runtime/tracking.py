"""metrics.jsonl: one JSON object a line, in the order of the steps; a tracker gets the same."""

import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TextIO

import numpy as np
from jaxtyping import Float

from .processes import is_leader
from .run_folder import METRICS_FILE
from .tracker import Tracker


class MetricsLog:
    """Appends metrics to the log of a run, where this process leads; a context manager."""

    def __init__(self, run_dir: Path, start_step: int):
        """Open the log, leaving out lines after `start_step`: those steps will come again."""
        self._file = self._tracker = None
        if not is_leader():
            return
        self._file = open_log(run_dir, lambda line: line["step"] <= start_step)
        self._tracker = Tracker(run_dir, start_step)

    def __enter__(self) -> "MetricsLog":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._file is not None and self._tracker is not None:
            self._file.close()
            self._tracker.close()

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """Append one line; readers see whole lines at once."""
        if self._file is not None and self._tracker is not None:
            self._file.write(json_line({"step": step, **metrics}) + "\n")
            self._file.flush()
            self._tracker.write(step, metrics)


def open_log(run_dir: Path, is_kept: Callable[[Mapping[str, float]], bool]) -> TextIO:
    """Open a log to append to it, with only those of its lines that are to be kept."""
    path = run_dir / METRICS_FILE
    kept = [json_line(line) + "\n" for line in read_metrics(run_dir) if is_kept(line)]
    draft = path.with_name(path.name + ".tmp")
    draft.write_text("".join(kept), encoding="utf-8")
    os.replace(draft, path)
    return path.open("a", encoding="utf-8")


def json_line(metrics: Mapping[str, float]) -> str:
    """A JSON object on one line; what is not finite is null, because JSON has no word for it."""
    finite = {name: value if math.isfinite(value) else None for name, value in metrics.items()}
    return json.dumps(finite, allow_nan=False)


def summarise(by_step: Mapping[str, Float[np.ndarray, "steps"]]) -> dict[str, float]:
    """One line for several steps: means over those that were not skipped, and how many were.

    The learning rate is that of the last step.
    """
    kept = by_step["skipped"] == 0
    means = {name: float(values[kept].mean()) for name, values in by_step.items() if kept.any()}
    last = {"learning_rate": float(by_step["learning_rate"][-1])}
    return means | last | {"skipped": int((~kept).sum())}


def skipped_streak(before: int, skipped: Float[np.ndarray, "steps"]) -> int:
    """Steps that were skipped in a row up to the end of a chunk, `before` of them earlier."""
    kept = np.flatnonzero(skipped == 0)
    return before + len(skipped) if len(kept) == 0 else len(skipped) - 1 - int(kept[-1])


def read_metrics(run_dir: Path) -> list[dict[str, float]]:
    """The numbers of all lines of a run's log; what a crash or an editor damaged is left out."""
    path = run_dir / METRICS_FILE
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
    return [entry for entry in map(_parse, lines) if entry is not None]


def _parse(line: str) -> dict[str, float] | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    if not isinstance(entry, dict) or not isinstance(entry.get("step"), int):
        return None
    return {name: value for name, value in entry.items() if isinstance(value, (int, float))}

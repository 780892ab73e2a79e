"""Metrics for Weights & Biases, kept in the run folder until they are uploaded.

`wandb sync RUN_DIR/wandb/offline-run-*` uploads them. With WANDB_MODE=online they are uploaded
while training, with WANDB_MODE=disabled nothing is written.
"""

import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from .run_folder import CONFIG_FILE

ID_FILE = "wandb-id"


class Tracker:
    """Receives each line of metrics.jsonl, in order."""

    def __init__(self, run_dir: Path, start_step: int):
        """Open the run, or continue it under its id; steps after `start_step` will come again."""
        self._run: Any = None
        if os.environ.setdefault("WANDB_MODE", "offline") == "disabled":
            return
        import wandb  # takes seconds, which only training needs

        id_file, config = run_dir / ID_FILE, run_dir / CONFIG_FILE
        if not id_file.exists():
            id_file.write_text(uuid.uuid4().hex + "\n", encoding="utf-8")
        self._run = wandb.init(
            project=__name__.partition(".")[0],
            name=run_dir.name,
            id=id_file.read_text(encoding="utf-8").strip(),
            resume="allow",
            dir=run_dir,
            config=yaml.safe_load(config.read_text(encoding="utf-8")) if config.exists() else {},
            settings=wandb.Settings(silent=True, console="off"),
        )
        # Its own count of steps only goes up; ours goes back when a run is continued.
        self._run.define_metric("*", step_metric="step")

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """Send the metrics of one step."""
        if self._run is not None:
            self._run.log({"step": step, **metrics})

    def close(self) -> None:
        """Finish: nothing more will come."""
        if self._run is not None:
            self._run.finish()

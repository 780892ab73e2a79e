"""Metrics for TensorBoard, in the run folder: `uvx tensorboard --logdir runs` shows all runs."""

from collections.abc import Mapping
from pathlib import Path

from tensorboardX import SummaryWriter

FOLDER = "tensorboard"


class Tracker:
    """Receives each line of metrics.jsonl, in order."""

    def __init__(self, run_dir: Path, start_step: int):
        """Open the event files of a run; TensorBoard drops steps after `start_step`."""
        # The suffix, because a file of the same second would be replaced.
        self._writer = SummaryWriter(
            str(run_dir / FOLDER), purge_step=start_step + 1, filename_suffix=f".{start_step}"
        )

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """Send the metrics of one step."""
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        """Finish: nothing more will come."""
        self._writer.close()

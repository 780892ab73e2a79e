"""Where metrics go besides metrics.jsonl: nowhere. To send them elsewhere, fill this class."""

from collections.abc import Mapping
from pathlib import Path


class Tracker:
    """Receives each line of metrics.jsonl, in order."""

    def __init__(self, run_dir: Path, start_step: int):
        """Open what receives metrics; steps after `start_step` will come again."""

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """Send the metrics of one step."""

    def close(self) -> None:
        """Finish: nothing more will come."""

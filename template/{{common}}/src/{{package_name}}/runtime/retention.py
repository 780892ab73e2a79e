"""Which checkpoints of a run stay."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from orbax.checkpoint.checkpoint_managers import (
    PolicyCheckpointInfo,
    PreservationContext,
    PreservationPolicy,
)


class NewestAndBest(PreservationPolicy):
    """The newest checkpoints, and those of the lowest held-out loss.

    Orbax's own metrics are not used: one that is damaged stops it.
    """

    def __init__(self, folder: Path, keep: int, keep_best: int):
        """Decide for checkpoints in `folder`; the other arguments are those of `Checkpoints`."""
        self.saving: dict[int, float] = {}
        """Losses of checkpoints made by this process: Orbax asks before their files are there."""
        self._folder, self._keep, self._keep_best = folder, keep, keep_best

    def loss(self, step: int) -> float:
        """The held-out loss of a checkpoint; infinite if it has none that can be read."""
        if step in self.saving:
            return self.saving[step]
        path = self._folder / str(step) / "position" / "metadata"
        try:
            return finite_loss(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return math.inf

    def should_preserve(
        self, checkpoints: Sequence[PolicyCheckpointInfo], *, context: PreservationContext
    ) -> Sequence[bool]:
        """Called by Orbax with the checkpoints that there are."""
        del context
        steps = sorted(checkpoint.step for checkpoint in checkpoints)
        best = sorted((step for step in steps if self.loss(step) < math.inf), key=self.loss)
        kept = {*steps[-self._keep :], *best[: self._keep_best]}
        return [checkpoint.step in kept for checkpoint in checkpoints]


def finite_loss(metrics: Mapping[str, float]) -> float:
    """The held-out loss among metrics; infinite where there is none, or none that is a number."""
    loss = float(metrics.get("eval/loss", math.inf))
    return loss if math.isfinite(loss) else math.inf

"""What the loss and sampling of a classifier let you choose.

`configs.py` gathers these classes. Pytree registration is at the bottom.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .core.checks import Fraction, NonNegativeInt, PositiveInt
from .core.pytrees import register_configs

STEPS = 1000
"""Steps of a run, and of its learning-rate schedule, if nothing else is said."""

WEIGHT_DECAY = 0.05
"""Of AdamW, per unit of learning rate, if nothing else is said."""


@dataclass(frozen=True, kw_only=True)
class LossConfig:
    """Cross-entropy between the predicted classes and the labels."""

    label_smoothing: Fraction = 0.05
    """Probability mass moved from the label to all classes alike."""


@dataclass(frozen=True, kw_only=True)
class SampleConfig:
    """Draw a picture of predictions on held-out examples."""

    run_dir: Path = Path("runs/default")
    """Folder of the run whose model predicts."""

    step: NonNegativeInt | None = None
    """Checkpoint to use; the newest if not given."""

    seed: NonNegativeInt = 0
    """Selects the examples."""

    count: PositiveInt = 36
    """Number of examples shown."""

    def problems(self) -> Iterator[tuple[str, str]]:
        """What a range alone cannot say."""
        if self.count > 400:
            yield "count", f"must be at most 400 to stay readable, got {self.count}"


register_configs(LossConfig, SampleConfig)

"""What the loss and sampling of a class-conditional generator let you choose.

`configs.py` gathers these classes. Pytree registration is at the bottom.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .core.checks import Fraction, NonNegativeFloat, NonNegativeInt, PositiveInt
from .core.pytrees import register_configs

STEPS = 1000
"""Steps of a run, and of its learning-rate schedule, if nothing else is said."""

WEIGHT_DECAY = 0.05
"""Of AdamW, per unit of learning rate, if nothing else is said."""


@dataclass(frozen=True, kw_only=True)
class LossConfig:
    """Flow matching: squared error of the predicted velocity."""

    label_dropout: Fraction = 0.1
    """Probability that training hides the class of an example; guidance needs some of it."""


@dataclass(frozen=True, kw_only=True)
class SampleConfig:
    """Generate images of every class and draw them, a column for each class."""

    run_dir: Path = Path("runs/default")
    """Folder of the run whose model generates."""

    step: NonNegativeInt | None = None
    """Checkpoint to use; the newest if not given."""

    seed: NonNegativeInt = 0
    """Selects the noise that the images begin as."""

    guidance: NonNegativeFloat = 2.0
    """Weight of the class: 0 ignores it, 1 is the conditional model, above 1 exaggerates."""

    num_steps: PositiveInt = 25
    """Steps from noise to image, each with two evaluations of the network."""

    count: PositiveInt = 8
    """Number of images of each class."""

    def problems(self) -> Iterator[tuple[str, str]]:
        """What a range alone cannot say."""
        if self.count > 100:
            yield "count", f"must be at most 100 to stay readable, got {self.count}"


register_configs(LossConfig, SampleConfig)

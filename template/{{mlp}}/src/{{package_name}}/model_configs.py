"""What this model, its data and its loss let you choose.

`configs.py` puts these classes into `TrainConfig`. Pytree registration is at the bottom.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from annotated_types import MinLen

from .core.checks import Fraction, NonNegativeInt, PositiveInt
from .core.pytrees import register_configs

# Short names on the command line, for what is changed most.
HiddenSizes = Annotated[
    tuple[PositiveInt, ...], MinLen(1), tyro.conf.arg(aliases=["--width"], metavar="INT...")
]
BatchSize = Annotated[PositiveInt, tyro.conf.arg(aliases=["--batch-size"])]


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Architecture of the multilayer perceptron."""

    hidden_sizes: HiddenSizes = (256, 256)
    """Width of each hidden layer, one number a layer."""

    dropout: Fraction = 0.1
    """Probability that a hidden activation is dropped in training."""


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Which examples are used, and how many at a time."""

    batch_size: BatchSize = 128
    """Examples in a training step."""

    eval_batch_size: PositiveInt = 512
    """Examples in an evaluation step; the result does not depend on it."""


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


register_configs(ModelConfig, DataConfig, LossConfig, SampleConfig)

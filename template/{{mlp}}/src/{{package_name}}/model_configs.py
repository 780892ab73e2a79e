"""What this model and its data let you choose.

`configs.py` puts these classes into `TrainConfig`. Pytree registration is at the bottom.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro
from annotated_types import Interval, MinLen

from .core.checks import Fraction, NonNegativeInt, PositiveInt
from .core.pytrees import register_configs

# Short names on the command line, for what is changed most.
HiddenSizes = Annotated[
    tuple[PositiveInt, ...], MinLen(1), tyro.conf.arg(aliases=["--width"], metavar="INT...")
]
BatchSize = Annotated[PositiveInt, tyro.conf.arg(aliases=["--batch-size"])]

# In pixels; far beyond the size of an image all of it is gone.
Shift = Annotated[int, Interval(ge=0, le=1024)]


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Architecture of the multilayer perceptron."""

    hidden_sizes: HiddenSizes = (256, 256)
    """Width of each hidden layer, one number a layer."""

    dropout: Fraction | None = 0.1
    """Probability that a hidden activation is dropped in training; None draws no noise at all."""

    compute_dtype: Literal["float32", "bfloat16"] = "float32"
    """Precision of activations and matrix products.
    Parameters, optimizer and loss stay in float32."""


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Which examples are used, and how many at a time."""

    batch_size: BatchSize = 128
    """Examples in a training step."""

    eval_batch_size: PositiveInt = 512
    """Examples in an evaluation step; the result does not depend on it."""

    max_shift: Shift = 0
    """Augmentation: images are moved by up to so many pixels each way."""

    cutout: NonNegativeInt = 0
    """Augmentation: side of a random square that is blanked, in pixels."""

    flip: bool = False
    """Augmentation: mirror half of the images. Not for digits, which have a left and a right."""


register_configs(ModelConfig, DataConfig)

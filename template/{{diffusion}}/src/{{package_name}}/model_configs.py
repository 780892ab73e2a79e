"""What this model and its data let you choose.

`configs.py` puts these classes into `TrainConfig`. Pytree registration is at the bottom.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from .core.checks import Fraction, PositiveInt
from .core.pytrees import register_configs

# Short names on the command line, for what is changed most.
Width = Annotated[PositiveInt, tyro.conf.arg(aliases=["--width"])]
Depth = Annotated[PositiveInt, tyro.conf.arg(aliases=["--depth"])]
BatchSize = Annotated[PositiveInt, tyro.conf.arg(aliases=["--batch-size"])]


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Architecture of the network that predicts velocities."""

    width: Width = 128
    """Size of the hidden state, and of the embeddings of time and class; even."""

    depth: Depth = 4
    """Number of residual blocks."""

    expansion: PositiveInt = 2
    """Width of the hidden layer of a block, as a multiple of `width`."""

    dropout: Fraction | None = 0.1
    """Probability that a hidden activation is dropped in training; None draws no noise at all."""

    compute_dtype: Literal["float32", "bfloat16"] = "float32"
    """Precision of activations and matrix products.
    Parameters, optimizer, loss and the points on the paths stay in float32."""

    def problems(self) -> Iterator[tuple[str, str]]:
        """What a range alone cannot say."""
        if self.width % 2:
            yield "width", f"must be even, half cosines and half sines, got {self.width}"


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Which examples are used, and how many at a time."""

    batch_size: BatchSize = 256
    """Examples in a training step."""

    eval_batch_size: PositiveInt = 512
    """Examples in an evaluation step; the result does not depend on it."""


register_configs(ModelConfig, DataConfig)

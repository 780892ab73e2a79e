"""What this model and its data let you choose.

`configs.py` puts these classes into `TrainConfig`. Pytree registration is at the bottom.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from .core.checks import Fraction, PositiveInt
from .core.pytrees import register_configs

# Short names on the command line, for what is changed most.
Width = Annotated[PositiveInt, tyro.conf.arg(aliases=["--width"])]
BatchSize = Annotated[PositiveInt, tyro.conf.arg(aliases=["--batch-size"])]


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Architecture of the decoder-only transformer."""

    width: Width = 128
    """Size of the residual stream."""

    num_layers: PositiveInt = 4
    """Number of blocks, each of attention and a gated MLP."""

    num_heads: PositiveInt = 4
    """Attention heads; width must be a multiple, and width / heads even."""

    num_kv_heads: PositiveInt = 2
    """Heads of keys and values, each shared by a group of attention heads."""

    mlp_width: PositiveInt = 384
    """Hidden size of the gated MLP."""

    dropout: Fraction | None = None
    """Probability that an element of a block's output is dropped in training.
    None draws no noise at all."""

    stacked: bool = False
    """Hold all layers in one stack and scan over them: compiles in the time of one layer.
    Faster to start from about 12 layers on; a step is slower on the CPU."""

    remat: bool = False
    """Compute activations again in the backward pass instead of keeping them.
    Less memory, about a third more time."""

    compute_dtype: Literal["float32", "bfloat16"] = "float32"
    """Precision of activations and matrix products.
    Parameters, optimizer, norms, softmax and loss stay in float32."""

    def problems(self) -> Iterator[tuple[str, str]]:
        """What a range alone cannot say."""
        if self.num_heads > 0 and self.width % (2 * self.num_heads):
            yield (
                "width",
                f"must be a multiple of 2 * num_heads ({2 * self.num_heads}), got {self.width}",
            )
        if self.num_kv_heads > 0 and self.num_heads % self.num_kv_heads:
            yield (
                "num_kv_heads",
                f"must divide num_heads ({self.num_heads}), got {self.num_kv_heads}",
            )


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Which text is used, and how much at a time."""

    path: Path | None = None
    """A text file of your own; the documentation of Python itself if not given."""

    context: PositiveInt = 128
    """Bytes that the model sees at a time."""

    batch_size: BatchSize = 8
    """Windows of text in a training step."""

    eval_batch_size: PositiveInt = 32
    """Windows in an evaluation step; the result does not depend on it."""


register_configs(ModelConfig, DataConfig)

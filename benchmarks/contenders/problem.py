"""What all contenders are given: sizes, data, initial parameters and the optimizer's numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Run = Callable[[int], list[float]]
"""Trains on for so many steps, waits until all is computed, and returns their losses."""

SIZES: dict[str, dict[str, Any]] = {
    "mlp": {"hidden_sizes": (256, 128)},
    "cnn": {"widths": (32, 64), "blocks": 1},
    "transformer": {
        "width": 128,
        "num_layers": 4,
        "num_heads": 4,
        "num_kv_heads": 4,
        "mlp_width": 384,
    },
}
"""The static fields of each project's `ModelConfig`."""

BATCH_SIZE = {"mlp": 128, "cnn": 64, "transformer": 16}
IMAGE_SHAPE = (28, 28, 1)
CONTEXT = 128
LEARNING_RATE = 1e-3
# The transformer has weight decay on matrices and clipping, the others plain Adam.
WEIGHT_DECAY = {"mlp": 0.0, "cnn": 0.0, "transformer": 0.05}
CLIP = {"mlp": None, "cnn": None, "transformer": 1.0}


@dataclass(frozen=True)
class Problem:
    """One model to train, in one precision."""

    model: str
    dtype: str
    initial: dict[str, np.ndarray]
    """By the names and in the layouts of the project: matrices (out, in), kernels HWIO."""
    batches: list[tuple[np.ndarray, np.ndarray]]
    """Inputs and targets of successive steps; after the last one comes the first again."""

    def save(self, path: Path) -> None:
        """For processes that do not have JAX."""
        inputs, targets = (np.stack(arrays) for arrays in zip(*self.batches, strict=True))
        np.savez(path, **self.initial, inputs=inputs, targets=targets)

    @classmethod
    def load(cls, path: Path, model: str, dtype: str) -> "Problem":
        """What `save` wrote."""
        arrays = dict(np.load(path))
        batches = list(zip(arrays.pop("inputs"), arrays.pop("targets"), strict=True))
        return cls(model, dtype, arrays, batches)

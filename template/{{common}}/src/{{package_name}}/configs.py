"""Every choice of a run, as frozen dataclasses that are pytrees.

Floats are data: changing one never compiles again, and `jax.grad` and `jax.vmap` reach it. All else
is structure. `core.pytrees` says how; registration is at the bottom. What differs from model to
model is in `model_configs.py` and `task_configs.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

import tyro
from annotated_types import MinLen

from .core.checks import (
    Fraction,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    UnitFloat,
    validate,
)
from .core.pytrees import register_configs
from .model_configs import DataConfig, ModelConfig
from .task_configs import STEPS, WEIGHT_DECAY, LossConfig, SampleConfig

__all__ = [
    "SGD",
    "AdamW",
    "DataConfig",
    "EvalConfig",
    "ExportConfig",
    "Lion",
    "LoaderConfig",
    "LossConfig",
    "MeshConfig",
    "ModelConfig",
    "Optimizer",
    "SampleConfig",
    "ScheduleConfig",
    "TrainConfig",
    "for_device",
    "validate",
]


# Short names on the command line, for what is changed most.
LearningRate = Annotated[PositiveFloat, tyro.conf.arg(aliases=["--lr"])]
Shape = Annotated[
    Literal["constant", "linear", "cosine", "wsd"],
    tyro.conf.arg(aliases=["--schedule"], metavar="SHAPE"),
]


@dataclass(frozen=True, kw_only=True)
class AdamW:
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019)."""

    learning_rate: LearningRate = 2e-3
    """Peak learning rate; the schedule scales it."""

    weight_decay: NonNegativeFloat = WEIGHT_DECAY
    """Decay of weight matrices per unit of learning rate; biases and norms are left alone."""

    b1: Fraction = 0.9
    """Decay of the mean of gradients."""

    b2: Fraction = 0.999
    """Decay of the mean of squared gradients."""

    eps: PositiveFloat = 1e-8
    """Added to the denominator."""

    gradient_clip: NonNegativeFloat | None = 1.0
    """Largest global norm of the gradient; 0 or None is off."""


@dataclass(frozen=True, kw_only=True)
class SGD:
    """Stochastic gradient descent with momentum."""

    learning_rate: LearningRate = 0.1
    """Peak learning rate; the schedule scales it."""

    weight_decay: NonNegativeFloat = 1e-4
    """Decay of weight matrices per unit of learning rate; biases and norms are left alone."""

    momentum: Fraction = 0.9
    """Decay of the accumulated gradient."""

    nesterov: bool = False
    """Look ahead along the momentum (Nesterov, 1983)."""

    gradient_clip: NonNegativeFloat | None = 1.0
    """Largest global norm of the gradient; 0 or None is off."""


@dataclass(frozen=True, kw_only=True)
class Lion:
    """Sign of an interpolated momentum (Chen et al., 2023); wants a small learning rate."""

    learning_rate: LearningRate = 3e-4
    """Peak learning rate; the schedule scales it."""

    weight_decay: NonNegativeFloat = 0.3
    """Decay of weight matrices per unit of learning rate; biases and norms are left alone."""

    b1: Fraction = 0.9
    """Share of the momentum in the update."""

    b2: Fraction = 0.99
    """Decay of the momentum."""

    gradient_clip: NonNegativeFloat | None = 1.0
    """Largest global norm of the gradient; 0 or None is off."""


Optimizer = (
    Annotated[AdamW, tyro.conf.subcommand("adamw")]
    | Annotated[SGD, tyro.conf.subcommand("sgd")]
    | Annotated[Lion, tyro.conf.subcommand("lion")]
)


@dataclass(frozen=True, kw_only=True)
class ScheduleConfig:
    """How the learning rate moves over the steps, as a multiple of its peak."""

    shape: Shape = "cosine"
    """What follows the warm-up: constant, linear, cosine or wsd.
    The last stays at the peak and falls over the last fifth."""

    warmup_steps: NonNegativeInt = 50
    """Steps from zero up to the peak."""

    total_steps: PositiveInt = STEPS
    """Step that reaches the final fraction, whatever `steps` is: a run can go on."""

    final_fraction: UnitFloat = 0.01
    """Learning rate at the end, relative to the peak."""

    def problems(self) -> Iterator[tuple[str, str]]:
        """What a range alone cannot say."""
        if self.warmup_steps >= self.total_steps:
            yield (
                "warmup_steps",
                f"must be below total_steps ({self.total_steps}), got {self.warmup_steps}",
            )


@dataclass(frozen=True, kw_only=True)
class LoaderConfig:
    """How examples get to the devices. What is trained does not depend on it."""

    stream: bool = False
    """Read examples while training, for data that does not fit on a device beside the model.
    Otherwise all of them are put there first, which is faster."""

    workers: NonNegativeInt = 0
    """Processes that read and decode, with `stream`.
    0 does so in threads of the training process, which is faster where decoding takes little."""

    ahead: PositiveInt = 32
    """Batches that are read before they are needed, with `stream`."""


@dataclass(frozen=True, kw_only=True)
class MeshConfig:
    """How devices share the work. What is trained does not depend on it, beyond rounding."""

    data: int = -1
    """Groups of devices, each with a copy of the state and a part of every batch.
    -1 makes as many as there are devices for."""

    fsdp: PositiveInt = 1
    """Devices in a group that divide the state among them, and their part of the batch."""

    tensor: PositiveInt = 1
    """Devices that compute each product with a large matrix together."""

    def problems(self) -> Iterator[tuple[str, str]]:
        """What a range alone cannot say."""
        if self.data < 1 and self.data != -1:
            yield "data", f"must be at least 1, or -1 for all that are left, got {self.data}"


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Train a model, or continue a run: the same command does both."""

    run_dir: Path = Path("runs/default")
    """Folder that receives everything; a run that is already there is continued."""

    steps: PositiveInt = STEPS
    """Steps to have trained in the end."""

    seed: NonNegativeInt = 0
    """Decides the initial parameters, the order of the data and all noise."""

    model: ModelConfig = field(default_factory=ModelConfig)
    data: DataConfig = field(default_factory=DataConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    optimizer: Optimizer = field(default_factory=AdamW)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    loader: LoaderConfig = field(default_factory=LoaderConfig)
    mesh: MeshConfig = field(default_factory=MeshConfig)

    accumulate: PositiveInt = 1
    """Parts that a batch is computed in, one after another: less memory, the same gradient."""

    max_skipped: PositiveInt = 5
    """A step without a finite gradient changes nothing.
    The run ends when the last so many steps of a chunk had none."""

    debug_nans: bool = False
    """Run one operation at a time, slowly, and name the one that first makes a NaN."""

    profile: NonNegativeInt = 0
    """Write a trace of so many steps to profile/ in the run folder before training; 0 is off.
    Their speed is printed."""

    ema_decay: Fraction | None = 0.99
    """Decay of the moving average of the parameters, which is what evaluation uses; None is off."""

    log_every: PositiveInt = 50
    """Steps between lines in metrics.jsonl, trained in one compiled chunk."""

    eval_every: PositiveInt = 250
    """Steps between evaluations."""

    save_every: PositiveInt = 250
    """Steps between checkpoints; the last step is always saved."""

    keep_checkpoints: PositiveInt = 3
    """Number of newest checkpoints that are kept."""

    keep_best: NonNegativeInt = 1
    """Number of checkpoints with the lowest held-out loss that are kept besides."""

    compile_cache: bool = True
    """Keep compiled programs in the user's cache folder; they start faster the next time."""

    def problems(self) -> Iterator[tuple[str, str]]:
        """What a range alone cannot say."""
        if self.data.batch_size % self.accumulate:
            yield (
                "accumulate",
                f"must divide data.batch_size ({self.data.batch_size}), got {self.accumulate}",
            )


@dataclass(frozen=True, kw_only=True)
class EvalConfig:
    """Evaluate a checkpoint on the held-out examples; prints one JSON object."""

    run_dir: Path = Path("runs/default")
    """Folder of the run."""

    step: NonNegativeInt | None = None
    """Checkpoint to evaluate; the newest if not given."""


@dataclass(frozen=True, kw_only=True)
class ExportConfig:
    """Write a checkpoint's model as one portable file that needs none of this project."""

    run_dir: Path = Path("runs/default")
    """Folder of the run."""

    step: NonNegativeInt | None = None
    """Checkpoint to export; the newest if not given."""

    platforms: Annotated[tuple[Literal["cpu", "cuda", "tpu"], ...], MinLen(1)] = (
        "cpu",
        "cuda",
        "tpu",
    )
    """Kinds of device that the file runs on."""


def for_device(config: TrainConfig) -> TrainConfig:
    """The config as compiled programs get it: what only the host reads is at its default.

    Every static field is part of a program, so that another folder would compile it once more.
    """
    host = (
        *("run_dir", "steps", "seed"),
        *("log_every", "eval_every", "save_every", "keep_checkpoints", "keep_best"),
        *("max_skipped", "debug_nans", "profile", "compile_cache", "loader", "mesh"),
    )
    default = TrainConfig()
    return replace(config, **{name: getattr(default, name) for name in host})


register_configs(
    *(AdamW, SGD, Lion, ScheduleConfig, LoaderConfig, MeshConfig, TrainConfig),
    *(EvalConfig, ExportConfig),
)

"""What to do when numbers stop being finite: keep what is needed to find out why, and find out."""

import shlex
import shutil
import traceback
from dataclasses import replace
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from ..configs import TrainConfig
from ..core.errors import TrainingError
from ..data.sources import Data, take_batch
from ..training.loops import Metrics, train_step
from ..training.state import TrainState
from .checkpointing import Checkpoints
from .run_folder import write_config

_PACKAGE = Path(__file__).parents[1]


def train_eagerly(
    state: TrainState,
    data: Data,
    indices: Int[Array | np.ndarray, "steps batch"],
    config: TrainConfig,
) -> tuple[TrainState, Metrics]:
    """As `train_chunk`, one operation at a time.

    Raises:
        TrainingError: an operation made a NaN; the message names it, and the line that called it.
    """
    rows = []
    for index in jnp.asarray(indices):
        try:
            with jax.disable_jit(), jax.debug_nans(True):
                state, metrics = train_step(state, take_batch(data, index, config.data), config)
        except FloatingPointError as error:
            frames = traceback.extract_tb(error.__traceback__)
            own = [frame for frame in frames if _PACKAGE in Path(frame.filename).parents]
            raise TrainingError(
                f"step {int(state.step) + 1}: {error}\n"
                f"called in {own[-1].filename}:{own[-1].lineno}: {own[-1].line}"
            ) from None
        rows.append(metrics)
    return state, jax.tree.map(lambda *values: jnp.stack(values), *rows)


def save_failure(config: TrainConfig, state: TrainState, step: int, examples_seen: int) -> str:
    """Make a run of its own that begins right before the first step that was not finite.

    Args:
        config: the run's config.
        state: the state after the bad steps, in which nothing but `step` has moved.
        step: the last good step.
        examples_seen: position in the data after it.

    Returns:
        The command that looks into it.
    """
    folder = config.run_dir / "failed" / f"step-{step}"
    shutil.rmtree(folder, ignore_errors=True)  # of an earlier failure, with another config
    folder.mkdir(parents=True)
    state = eqx.tree_at(lambda s: s.step, state, jnp.asarray(step, state.step.dtype))
    with Checkpoints(folder) as saved:
        saved.save(state, step, examples_seen)
    write_config(replace(config, run_dir=folder))
    words = ["scripts/train.py", "--config", str(folder), "--run-dir", str(folder)]
    return shlex.join([*words, "--debug-nans", "True"])

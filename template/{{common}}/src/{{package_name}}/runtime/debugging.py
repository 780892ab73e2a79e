"""What to do when numbers stop being finite: keep what is needed to find out why, and find out."""

import shlex
import shutil
import traceback
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp

from ..configs import TrainConfig
from ..core.errors import TrainingError
from ..data.sources import Batch
from ..training.loops import Metrics, train_step
from ..training.state import TrainState
from .checkpointing import Checkpoints
from .processes import on_leader
from .run_folder import write_config

_PACKAGE = Path(__file__).parents[1]


def train_eagerly(
    state: TrainState, batches: Iterable[Batch], config: TrainConfig
) -> tuple[TrainState, Metrics]:
    """As `train_chunk`, one operation at a time, with a batch for each step.

    Raises:
        TrainingError: an operation made a NaN; the message names it, and the line that called it.
    """
    rows = []
    for batch in batches:
        try:
            with jax.disable_jit(), jax.debug_nans(True):
                state, metrics = train_step(state, batch, config)
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
    # Gone first, because it may be of an earlier failure, with another config.
    on_leader(lambda: shutil.rmtree(folder, ignore_errors=True))
    on_leader(lambda: folder.mkdir(parents=True))
    back = state.step - (state.step - step)  # on the devices of the state
    state = eqx.tree_at(lambda s: s.step, state, back)
    with Checkpoints(folder) as saved:
        saved.save(state, step, examples_seen)
    on_leader(lambda: write_config(replace(config, run_dir=folder)))
    words = ["scripts/train.py", "--config", str(folder), "--run-dir", str(folder)]
    return shlex.join([*words, "--debug-nans", "True"])

"""The host loop: everything that a training run does, from top to bottom."""

import math
import signal
import sys

import jax
import numpy as np
from jaxtyping import Float

from ..configs import TrainConfig, for_device
from ..core.errors import TrainingError
from ..core.keys import root_key
from ..data.pipeline import example_order
from ..data.sources import load_split, num_examples
from ..training.loops import train_chunk
from ..training.state import abstract_state, init_state
from .checking import check_run
from .checkpointing import Checkpoints
from .evaluation import evaluate_params
from .figures import draw_figures
from .plots import draw_curves
from .progress import ProgressReport, describe
from .run_folder import open_folder, write_config
from .signals import stop_on_signals
from .tracking import MetricsLog


def train(config: TrainConfig) -> None:
    """Train until the run has done `config.steps` steps, starting from its newest checkpoint.

    On SIGINT or SIGTERM the present chunk is finished and saved, and the process exits with 128
    plus the number of the signal; the same command goes on from there.

    Args:
        config: what to train, on what, for how long, and where.

    Raises:
        UserError: the config or its data are wrong, or the run folder cannot be used.
        TrainingError: the loss is not finite. What was saved before is kept, and nothing after.
    """
    check_run(config)
    data, held_out = load_split(config.data, "train"), load_split(config.data, "test")
    size = num_examples(data)
    changes = open_folder(config)
    key = root_key(config.seed)
    traced = for_device(config)
    with stop_on_signals() as stop, Checkpoints(config.run_dir, config.keep_checkpoints) as saved:
        if saved.steps():
            state, examples_seen = saved.restore(abstract_state(traced, key))
        else:
            state, examples_seen = jax.device_put(init_state(traced, key), jax.devices()[0]), 0
        step = int(state.step)
        if step >= config.steps:
            print(f"{config.run_dir} is at step {step} already; give more --steps to go on")
            return
        write_config(config)

        with (
            MetricsLog(config.run_dir, step) as log,
            ProgressReport(step, config.steps) as progress,
        ):
            progress.say(f"{config.run_dir}: {describe(state, size)}, from step {step}")
            for line in [*changes, *_notes(config)]:
                progress.say(line)

            while step < config.steps and not stop.requested:
                # Next chunk: which examples, then all of its steps in one compiled program.
                steps, batch_size = _chunk_length(step, config), config.data.batch_size
                order = example_order(size, config.seed, examples_seen, steps * batch_size)
                state, chunk = train_chunk(state, data, order.reshape(steps, batch_size), traced)
                step, examples_seen = step + steps, examples_seen + order.size

                # Log: the chunk's metrics come over in one transfer.
                chunk = jax.device_get(chunk)
                metrics = {name: float(values.mean()) for name, values in chunk.items()}
                metrics["learning_rate"] = float(chunk["learning_rate"][-1])
                if not math.isfinite(metrics["loss"]):
                    raise TrainingError(_not_finite(step - steps, chunk["loss"], saved.steps()))
                log.write(step, metrics | progress.chunk(step, metrics))

                if step % config.eval_every == 0 or step >= config.steps:
                    metrics = evaluate_params(
                        state.eval_params, state.eval_model_state, held_out, traced
                    )
                    log.write(step, metrics)
                    progress.evaluation(step, metrics)

                if step % config.save_every == 0:
                    saved.save(state, step, examples_seen)

            # The last step, whether the run is done or was asked to stop, however late.
            if step > 0:
                saved.save(state, step, examples_seen)

        draw_curves(config.run_dir)
        draw_figures(state.eval_params, state.eval_model_state, held_out, config)
    if stop.signum is not None and step < config.steps:
        name = signal.Signals(stop.signum).name
        print(f"stopped by {name} at step {step}; the same command goes on from here")
        sys.exit(128 + stop.signum)
    print(f"trained {step} steps; see {config.run_dir}")


def _chunk_length(step: int, config: TrainConfig) -> int:
    """Steps until something has to be done on the host."""
    periods = (config.log_every, config.eval_every, config.save_every)
    return min(config.steps - step, *(period - step % period for period in periods))


def _notes(config: TrainConfig) -> list[str]:
    """What a careful reader of the config would want to be told."""
    notes = []
    warmup = config.schedule.warmup_steps
    if config.steps <= warmup:
        notes.append(
            f"note: the learning rate rises until step {warmup}, so this run never reaches its "
            "peak; --schedule.warmup-steps 0 has no warm-up"
        )
    total, final = config.schedule.total_steps, config.schedule.final_fraction
    if config.schedule.shape != "constant" and config.steps > total:
        notes.append(
            f"note: from step {total} on the learning rate stays at {final:g} of its peak; "
            f"--schedule.total-steps {config.steps} would spread the schedule over the run"
        )
    if config.schedule.shape != "constant" and config.steps < total:
        notes.append(f"note: the schedule goes on until step {total}, this run to {config.steps}")
    return notes


def _not_finite(first: int, losses: Float[np.ndarray, "steps"], saved: list[int]) -> str:
    step = first + int(np.flatnonzero(~np.isfinite(losses))[0]) + 1
    newest = f"the checkpoint of step {saved[-1]} is sound" if saved else "nothing was saved yet"
    return (
        f"the loss is not finite at step {step}; {newest}. "
        "Try a lower learning rate, a longer warm-up or gradient clipping"
    )

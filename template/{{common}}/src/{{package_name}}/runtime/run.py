"""The host loop: everything that a training run does, from top to bottom."""

import signal
import sys

import jax
from jax.sharding import PartitionSpec
from jaxtyping import PyTree

from ..configs import TrainConfig, for_device
from ..core.errors import TrainingError
from ..core.keys import root_key
from ..core.sharding import divided_like, place
from ..data.pipeline import example_order
from ..data.sources import Data, load_split
from ..modeling.model import TENSOR_AXES
from ..training.loops import chunk_length
from ..training.state import TrainState, abstract_state, init_state
from .checking import check_run
from .checkpointing import Checkpoints
from .debugging import save_failure
from .devices import open_mesh
from .evaluation import evaluate_params
from .feeding import open_feed
from .figures import draw_figures
from .plots import draw_curves
from .processes import ends_with_its_peers, fetch, is_leader, largest, on_leader, say
from .profiling import profile_steps
from .progress import ProgressReport, describe
from .run_folder import lock_folder, open_folder, write_config
from .signals import stop_on_signals
from .startup import START
from .tracking import MetricsLog, skipped_streak, summarise

_MANY = 5
"""Lengths of chunks that are worth a word."""


def train(config: TrainConfig) -> None:
    """Train until the run has done `config.steps` steps, starting from its newest checkpoint.

    On SIGINT or SIGTERM the present chunk is finished and saved, and the process exits with 128
    plus the number of the signal; the same command goes on from there. Several processes all call
    this, with the same config, and all of them stop when one of them is asked to.

    Args:
        config: what to train, on what, for how long, and where.

    Raises:
        UserError: the config or its data are wrong, or the run folder cannot be used.
        TrainingError: the gradient is not finite any more, or a checkpoint could not be written.
            What was saved before is kept.
    """
    START.mark("imports")
    check_run(config)
    on_leader(lambda: open_folder(config))
    held_out = load_split(config.data, "test")
    line, (params, model_state) = _train(config, held_out)
    if is_leader():
        draw_curves(config.run_dir)
        draw_figures(params, model_state, held_out, config)
        print(line)


def _train(config: TrainConfig, held_out: Data) -> tuple[str, tuple[PyTree, PyTree]]:
    """All but the pictures.

    Returns:
        A line on where the run is, and what pictures show: parameters and the model's state.
    """
    mesh, key = open_mesh(config.mesh), root_key(config.seed)
    eval_data, key = place((held_out, key), mesh, PartitionSpec())
    START.mark("data")
    # Its floats go to the devices once, and not at each start of a program.
    traced = place(for_device(config), mesh, PartitionSpec())
    with (
        lock_folder(config.run_dir),
        stop_on_signals() as stop,
        jax.set_mesh(mesh),
        Checkpoints(config.run_dir, config.keep_checkpoints, config.keep_best) as saved,
    ):
        # The folder again, now that nobody else can change it.
        changes = on_leader(lambda: open_folder(config)) or []
        if saved.steps():
            like = divided_like(abstract_state(traced, key), mesh, TENSOR_AXES)
            state, examples_seen = saved.restore(like)
        else:
            state, examples_seen = init_state(traced, key), 0
        step, streak, evaluation = int(state.step), 0, None
        if step >= config.steps:
            line = f"{config.run_dir} is at step {step} already; give more --steps to go on"
            return line, fetch((state.eval_params, state.eval_model_state))
        on_leader(lambda: write_config(config, step, changes))

        with (
            open_feed(config, mesh, examples_seen, config.steps - step) as feed,
            saved.finishing(),
            MetricsLog(config.run_dir, step) as log,
            ProgressReport(step, config.steps) as progress,
            ends_with_its_peers(),
        ):
            progress.say(f"{config.run_dir}: {describe(state, feed.size)}, from step {step}")
            for line in [*changes, *notes(config)]:
                progress.say(line)
            if config.profile:
                for line in profile_steps(state, feed, config):
                    progress.say(line)
            START.mark("init")

            signum = largest(stop.signum)
            while step < config.steps and not signum:
                # The next chunk: all of its steps in one compiled program.
                steps = chunk_length(step, config.steps, config)
                state, by_step = feed.train(state, examples_seen, steps, traced)
                step, examples_seen = step + steps, examples_seen + steps * config.data.batch_size

                # Log: the chunk's metrics come over in one transfer.
                by_step = jax.device_get(by_step)
                START.mark("steps")
                for line in START.report(steps):
                    progress.say(line)
                metrics = summarise(by_step)
                log.write(step, metrics | progress.chunk(step, metrics))
                streak = skipped_streak(streak, by_step["skipped"])
                if streak >= config.max_skipped:
                    text = _give_up(config, state, streak, examples_seen, feed.size)
                    steps = ", ".join(map(str, saved.steps())) or "none"
                    raise TrainingError(f"{text}\nCheckpoints to go on from: {steps}")

                evaluation = None
                if step % config.eval_every == 0 or step >= config.steps:
                    evaluation = evaluate_params(
                        state.eval_params, state.eval_model_state, eval_data, traced, mesh
                    )
                    log.write(step, evaluation)
                    progress.evaluation(step, evaluation)

                # A state that yields no finite gradient may be spoilt: an older one is better.
                if step % config.save_every == 0 and streak == 0:
                    saved.save(state, step, examples_seen, evaluation)
                signum = largest(stop.signum)

            # The last step, whether the run is done or was asked to stop, however late.
            if step > 0:
                saved.save(state, step, examples_seen, evaluation)

        if signum and step < config.steps:
            name = signal.Signals(signum).name
            say(f"stopped by {name} at step {step}; the same command goes on from here")
            sys.exit(128 + signum)
        best = saved.best_step()
        line = f"trained {step} steps, lowest held-out loss at step {best}; see {config.run_dir}"
        return line, fetch((state.eval_params, state.eval_model_state))


def notes(config: TrainConfig) -> list[str]:
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
    lengths, step = set(), 0
    while step < min(config.steps, 10_000) and len(lengths) < _MANY:
        length = chunk_length(step, config.steps, config)
        lengths.add(length)
        step += length
    if len(lengths) == _MANY:
        notes.append(
            "note: log_every, eval_every and save_every cut the run into chunks of many lengths, "
            "and each length is compiled; multiples of one another are cut into few"
        )
    if config.schedule.shape != "constant" and config.steps < total:
        notes.append(f"note: the schedule goes on until step {total}, this run to {config.steps}")
    return notes


def _give_up(
    config: TrainConfig, state: TrainState, streak: int, examples_seen: int, size: int
) -> str:
    last_good, batch_size = int(state.step) - streak, config.data.batch_size
    position = examples_seen - streak * batch_size
    batch = example_order(size, config.seed, position, batch_size)
    if config.debug_nans:
        looking = "No operation made a NaN: the loss, or the norm of its gradient, overflows."
    else:
        command = save_failure(config, state, last_good, position)
        looking = f"To see which operation makes the first NaN: {command}"
    return (
        f"the loss or its gradient is not finite at step {last_good + 1}, and in all {streak} "
        f"steps since; none of them changed anything.\n"
        f"The batch of that step: examples {', '.join(map(str, batch))}.\n"
        f"{looking}\n"
        "What usually helps: a lower learning rate, a longer warm-up, gradient clipping."
    )

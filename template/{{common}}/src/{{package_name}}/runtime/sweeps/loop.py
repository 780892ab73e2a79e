"""The host loop of a sweep: many runs, trained in groups, each group by one program."""

import math
import shutil
import signal
import sys
from collections.abc import Sequence

import jax
import numpy as np

from ...configs import TrainConfig, for_device
from ...core.errors import TrainingError, UserError
from ...core.keys import root_key
from ...data.pipeline import padded_batches
from ...data.sources import load_split, num_examples
from ...training.loops import chunk_length, evaluate
from ...training.metrics import HIGHER_IS_BETTER
from ...training.state import TrainState, abstract_state
from ...training.sweeps import take_members
from ..checkpointing import Checkpoints
from ..memory import device_memory, group_sizes
from ..run_folder import lock_folder, make_folder
from ..signals import StopRequest, stop_on_signals
from ..tracking import skipped_streak, summarise
from .figures import draw_sweep
from .folder import Row, find_rows
from .group import MemberGroup, stacked_shapes
from .options import Member, Sweep
from .report import SweepReport
from .results import BEST_FILE, GROUPS, SweepResults


def run_sweep(sweep: Sweep) -> None:
    """Train all members, drop the worse ones on the way if asked to, and compare the rest.

    A sweep that was stopped goes on: groups from their last save, members that are done not at all.

    Args:
        sweep: what to train, and how to compare it.

    Raises:
        UserError: the folder holds something else, or there is no such metric to rank by.
        TrainingError: no setting has a finite result.
    """
    metric = _metric(sweep)
    find_rows(sweep)
    make_folder(sweep.run_dir)
    last = sweep.members[0].config.steps
    with lock_folder(sweep.run_dir), stop_on_signals() as stop:
        rows = find_rows(sweep) or _new_rows(sweep.members)
        with SweepResults(sweep, rows) as results, SweepReport(results, metric) as report:
            for rung, target in enumerate(_targets(sweep), start=1):
                for group in dict.fromkeys(row.group for row in rows):
                    _train_group(group, target, results, report, stop)
                if target < last and not stop.signum:
                    _drop_the_worse(results, metric, rung)
            if stop.signum and any(map(results.is_open, rows)):
                report.say(
                    f"stopped by {signal.Signals(stop.signum).name}; "
                    "the same command goes on from here"
                )
                sys.exit(128 + stop.signum)
            shutil.rmtree(sweep.run_dir / GROUPS, ignore_errors=True)
            if not math.isfinite(results.ranking(metric)[0][0]):
                raise TrainingError(f"no setting has a finite held-out {metric}")
            best = results.write_best(metric)
            report.summary(best)
        draw_sweep(results, metric)
    print(f"see {sweep.run_dir}; the best again: train.py --config {sweep.run_dir / BEST_FILE}")


def _targets(sweep: Sweep) -> list[int]:
    """Steps up to which all members are trained before they are compared."""
    last = sweep.members[0].config.steps
    every = sweep.halve_every or last
    return [*range(every, last, every), last]


def _train_group(
    group: int, target: int, results: SweepResults, report: SweepReport, stop: StopRequest
) -> None:
    """Train the members of a group up to a step, save their states, and note how they do."""
    rows = [row for row in results.rows if row.group == group and results.is_open(row)]
    step = results.saved_step[group]
    config = results.sweep.members[rows[0].member].config if rows else None
    if config is None or step >= target < config.steps or stop.signum:
        return
    members = [results.sweep.members[row.member].config for row in rows]
    for row in rows:
        row.status = "running" if row.status == "waiting" else row.status
    report.group()
    trained = MemberGroup(members, min(config.log_every, target), results.sweep.at_once)
    streaks = [0] * len(rows)
    with Checkpoints(results.group_folder(group), config.keep_checkpoints) as saved:
        if step > 0:
            states = trained.load(_restore(saved, step, group, rows, config, results))
        else:
            states = trained.init()
        while step < target and not stop.signum:
            count = chunk_length(step, target, config)
            states, chunk = trained.train(states, step, count)
            step += count
            for number, row in enumerate(rows):
                metrics = {name: values[number] for name, values in chunk.items()}
                results.log(row.member, step, summarise(metrics))
                streaks[number] = skipped_streak(streaks[number], metrics["skipped"])
                if streaks[number] >= config.max_skipped:
                    row.status = "not finite"
            report.chunk(len(rows), count)
            if step % config.eval_every == 0 or step == target:
                for row, metrics in zip(rows, trained.evaluate(states), strict=True):
                    row.step, row.metrics = step, metrics
                    results.log(row.member, step, metrics)
                results.write()
                report.evaluation()
            if step % config.save_every == 0 or step == target or stop.signum:
                saved.save(trained.unload(states), step, step * config.data.batch_size)
                results.saved_step[group] = step
    if step == config.steps:
        for row in rows:
            row.status = row.status if row.status == "not finite" else "done"
        results.write()
        shutil.rmtree(results.group_folder(group), ignore_errors=True)


def _restore(
    saved: Checkpoints,
    step: int,
    group: int,
    rows: list[Row],
    config: TrainConfig,
    results: SweepResults,
) -> TrainState:
    """The states of some rows, out of a save that may hold rows that were dropped after it."""
    held = [
        row.member
        for row in results.rows
        if row.group == group and (row.status != "dropped" or row.step >= step)
    ]
    states, _ = saved.restore(stacked_shapes(config, len(held)), step)
    return take_members(states, np.array([held.index(row.member) for row in rows]))


def _drop_the_worse(results: SweepResults, metric: str, rung: int) -> None:
    """Leave half of the settings, a half of those at the next rung, and so on."""
    ranked = results.ranking(metric)
    keep = max(1, math.ceil(len(ranked) / 2**rung))
    dropped = {setting for _, setting in ranked[keep:]}
    for row, member in zip(results.rows, results.sweep.members, strict=True):
        if member.setting in dropped and results.is_open(row):
            row.status = "dropped"
    results.write()


def _new_rows(members: Sequence[Member]) -> list[Row]:
    """All members, those of one structure in one group if their states fit into the memory."""
    alike: dict[object, list[int]] = {}
    for number, member in enumerate(members):
        structure = jax.tree.structure(for_device(member.config))
        alike.setdefault(structure, []).append(number)
    shared = jax.default_backend() == "cpu"
    memory, groups = device_memory() * (1 if shared else len(jax.devices())), []
    for numbers in alike.values():
        state = stacked_shapes(members[numbers[0]].config, 1)
        for size in group_sizes(len(numbers), state, memory):
            groups.append([numbers.pop(0) for _ in range(size)])
    rows = [Row(number, group) for group, numbers in enumerate(groups) for number in numbers]
    return sorted(rows, key=lambda row: row.member)


def _metric(sweep: Sweep) -> str:
    """The metric to rank by. Where the loss itself is swept, losses do not compare."""
    config = sweep.members[0].config
    traced = for_device(config)
    state = abstract_state(traced, root_key(0))
    held_out = load_split(config.data, "test")
    batches = padded_batches(num_examples(held_out), config.data.eval_batch_size)
    params, model_state = state.eval_params, state.eval_model_state
    names = list(jax.eval_shape(evaluate, params, model_state, held_out, *batches, traced))
    if sweep.rank_by is None:
        others = [name for name in names if name not in ("loss", *HIGHER_IS_BETTER)]
        if not others or not any(name.startswith("loss.") for name in sweep.members[0].values):
            return "loss"
        if len(others) > 1:
            raise UserError(
                "--rank-by: the loss itself is swept, so losses do not compare; "
                f"name one of {', '.join(name for name in names if name != 'loss')}"
            )
        return others[0]
    if sweep.rank_by not in names:
        raise UserError(f"--rank-by: must be one of {', '.join(names)}, got {sweep.rank_by}")
    return sweep.rank_by

"""From the command line of a sweep to its members.

A flag of training with several values is an axis of the sweep:

    --optimizer.learning-rate 1e-4 1e-3
    --model.hidden-sizes 64 --model.hidden-sizes 128 128    a tuple is one value: the flag again
    optimizer:adamw optimizer:sgd
    --optimizer.learning-rate log:1e-4:1e-2                 a range, with --random N; or uniform:
"""

import argparse
import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax

from ...configs import MeshConfig, TrainConfig, for_device
from ...core.checks import Problem, find_problems, refuse
from ...core.errors import UserError
from ...core.pytrees import is_config
from ..checking import check_run
from ..command_line import (
    faults_of_file_named,
    parse,
    print_config,
    start_config,
    start_help,
    start_parser,
)
from .axes import Axis, draw_settings, split_axes, to_integer, to_number

_COUNTS = ("--seeds", "--random", "--halve-every", "--at-once")
_SUMMARY = "Train all combinations of the values that flags are given, compare them, name the best."
_HELP = (
    "Each flag of training may have several values, --lr 1e-3 3e-3. A tuple is one value: repeat "
    "its flag. The flags of the sweep itself:",
    ("--seeds N", "train each setting with N seeds, from --seed on"),
    (
        "--random N",
        "N settings spread over the values, and over ranges such as log:1e-4:1e-2 and "
        "uniform:0:0.5; fewer where some are the same",
    ),
    ("--halve-every S", "drop the worse half of the settings after every S steps"),
    (
        "--rank-by NAME",
        "held-out metric to compare by; loss if not given, or where the loss itself is swept "
        "another one",
    ),
    ("--at-once N", "members computed side by side; chosen by the device if not given"),
)


@dataclass(frozen=True)
class Member:
    """One run of a sweep."""

    config: TrainConfig
    setting: int
    """Which combination of values: members of one setting differ in their seed alone."""
    values: dict[str, Any]
    """What is swept, by the dotted name of the field, but for the seed."""


@dataclass(frozen=True)
class Sweep:
    """Which runs there are, and how they are trained and compared."""

    run_dir: Path
    members: tuple[Member, ...]
    is_grid: bool
    """Whether the settings are all combinations of some values."""
    halve_every: int | None = None
    """Steps after which the worse half of the settings is dropped, again and again."""
    at_once: int | None = None
    """Members that are computed side by side; chosen by the device if not given."""
    rank_by: str | None = None
    """Name of the held-out metric that settings are compared by."""


def parse_sweep(argv: Sequence[str] | None = None) -> Sweep:
    """The sweep that a command line describes, all members checked.

    Raises:
        UserError: a value is out of range, stands twice, or cannot differ between members, or a
            flag of training means nothing here.
        SystemExit: as `command_line.parse_train`.
    """
    start, words = _parser().parse_known_args(argv)
    for flag in _COUNTS:
        value = getattr(start, flag[2:].replace("-", "_"))
        if value is not None and value < 1:
            raise UserError(f"{flag}: must be above 0, got {value}")
    axes, common = split_axes(words)
    seeds = [to_integer(*words) for axis in axes if axis.name == "seed" for words in axis.choices]
    if seeds and start.seeds:
        raise UserError("--seeds: give either it or several values of --seed")
    axes = [axis for axis in axes if axis.name != "seed"]
    settings = draw_settings(axes, start.random)
    default = start_config(start)
    configs = _configs(default, common, axes, settings)
    if start.print_config:
        print_config(configs[0])
    members = []
    for number, config in enumerate(configs):
        values = {axis.name: _readable(_get(config, axis.name)) for axis in axes}
        for seed in seeds or range(config.seed, config.seed + (start.seeds or 1)):
            members.append(Member(replace(config, seed=seed), number, values))
    with faults_of_file_named(start, default):
        _check(members, axes)
    every, steps = start.halve_every, configs[0].steps
    if every is not None and every >= steps:
        raise UserError(f"--halve-every: must be below --steps ({steps}), got {every}")
    if start.random and len(settings) < start.random:
        text = f"note: --random {start.random}: {len(settings)} settings, the others are the same"
        print(text, file=sys.stderr)
    return Sweep(
        run_dir=configs[0].run_dir,
        members=tuple(members),
        is_grid=start.random is None,
        halve_every=every,
        at_once=start.at_once,
        rank_by=start.rank_by,
    )


def _parser() -> argparse.ArgumentParser:
    parser = start_parser()
    for flag in _COUNTS:
        parser.add_argument(flag, type=int)
    parser.add_argument("--rank-by")
    return parser


def _configs(
    default: TrainConfig,
    common: list[str],
    axes: list[Axis],
    settings: list[tuple[list[str], ...]],
) -> list[TrainConfig]:
    """The config of each setting.

    The command line is read once for each combination of what is static. That takes time, so
    numbers are put in afterwards.
    """
    read: dict[tuple[str, ...], TrainConfig] = {}
    configs = []
    for setting in settings:
        chosen = list(zip(axes, setting, strict=True))
        key = tuple(word for axis, words in chosen if not axis.is_float for word in words)
        if key not in read:
            words = [*common, *itertools.chain(*setting)]
            read[key] = parse(default, words, start_help(_SUMMARY, *_HELP), lambda config: None)
        config = read[key]
        for axis, words in chosen:
            if axis.is_float:
                config = _put(config, axis.name, None if words[1] == "None" else to_number(*words))
        configs.append(config)
    return configs


def _check(members: list[Member], axes: list[Axis]) -> None:
    first = members[0].config
    for axis in axes:
        others = [_put(first, axis.name, _get(member.config, axis.name)) for member in members]
        if any(other != first and for_device(other) == for_device(first) for other in others):
            raise UserError(f"{axis.choices[0][0]}: must be the same for all members")
    problems = [problem for member in members for problem in find_problems(member.config)]
    refuse(dict.fromkeys(problems or _meaningless(first)))
    structures = {jax.tree.structure(for_device(m.config)): m.config for m in members}
    for config in structures.values():
        check_run(replace(config, mesh=MeshConfig(data=1)))


def _meaningless(config: TrainConfig) -> Iterator[Problem]:
    """What a run can be asked for, and a sweep cannot."""
    if config.loader.stream:
        yield "--loader.stream", "a sweep holds its data on the devices"
    if config.profile:
        yield "--profile", "a sweep writes no trace; profile a run of one of its members"
    if config.debug_nans:
        yield "--debug-nans", "a sweep does not look for NaNs; debug a run of one of its members"
    if config.keep_best not in (0, TrainConfig.keep_best):
        yield (
            "--keep-best",
            "a sweep saves all members together; give --keep-best 0",
        )
    mesh = config.mesh
    for name, value in (("data", abs(mesh.data)), ("fsdp", mesh.fsdp), ("tensor", mesh.tensor)):
        if value != 1:
            yield f"--mesh.{name}", "each member of a sweep is trained on one device"


def _get(config: Any, name: str) -> Any:
    for part in name.split("."):
        config = getattr(config, part)
    return config


def _put(config: Any, name: str, value: Any) -> Any:
    first, _, rest = name.partition(".")
    return replace(config, **{first: _put(getattr(config, first), rest, value) if rest else value})


def _readable(value: Any) -> Any:
    return type(value).__name__.lower() if is_config(value) else value

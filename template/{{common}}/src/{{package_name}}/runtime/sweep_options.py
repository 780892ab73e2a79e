"""From the command line of a sweep to its members.

A flag of training with several values is an axis of the sweep:

    --optimizer.learning-rate 1e-4 1e-3
    --model.hidden-sizes 64 --model.hidden-sizes 128 128    a tuple is one value: the flag again
    optimizer:adamw optimizer:sgd
    --optimizer.learning-rate log:1e-4:1e-2                 a range, with --random N; or uniform:
"""

import argparse
import itertools
import math
import re
import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..configs import MeshConfig, TrainConfig, for_device
from ..core.annotations import alternatives
from ..core.checks import find_problems, refuse
from ..core.errors import UserError
from ..core.pytrees import is_config, is_registered, union_fields
from .checking import check_run
from .command_line import parse, print_config, start_config, start_help, start_parser

_RANGE = re.compile(r"(log|uniform):([^:]+):([^:]+)")
_COUNTS = ("--seeds", "--random", "--halve-every", "--at-once")
_SUMMARY = "Train all combinations of the values that flags are given, compare them, name the best."
_HELP = (
    "Each flag of training may have several values, --lr 1e-3 3e-3. A tuple is one value:",
    "repeat its flag. The flags of the sweep itself:",
    "  --seeds N        train each setting with N seeds, from --seed on",
    "  --random N       N settings spread over the values, and over ranges such as log:1e-4:1e-2",
    "                   and uniform:0:0.5",
    "  --halve-every S  drop the worse half of the settings after every S steps",
    "  --rank-by NAME   held-out metric to compare by; loss if not given, or where the loss itself",
    "                   is swept another one",
    "  --at-once N      members computed side by side; chosen by the device if not given",
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


@dataclass(frozen=True)
class _Axis:
    """A field with several values, each as the words that choose it."""

    name: str
    choices: list[list[str]]
    is_float: bool
    range: tuple[str, float, float] | None = None

    def at(self, u: float) -> list[str]:
        """The choice at a place from 0 to below 1."""
        if self.range is None:
            return self.choices[int(u * len(self.choices))]
        kind, low, high = self.range
        value = low * (high / low) ** u if kind == "log" else low + (high - low) * u
        # Few digits: a person may want to type it again.
        return [self.choices[0][0], str(min(max(float(f"{value:.4g}"), low), high))]


def parse_sweep(argv: Sequence[str] | None = None) -> Sweep:
    """The sweep that a command line describes, all members checked.

    Raises:
        UserError: a value is out of range, stands twice, or cannot differ between members.
        SystemExit: as `command_line.parse_train`.
    """
    start, words = _parser().parse_known_args(argv)
    for flag in _COUNTS:
        value = getattr(start, flag[2:].replace("-", "_"))
        if value is not None and value < 1:
            raise UserError(f"{flag}: must be above 0, got {value}")
    axes, common = _split(words)
    seeds = [_integer(*words) for axis in axes if axis.name == "seed" for words in axis.choices]
    if seeds and start.seeds:
        raise UserError("--seeds: give either it or several values of --seed")
    axes = [axis for axis in axes if axis.name != "seed"]
    configs = _configs(start_config(start), common, axes, _settings(axes, start.random))
    if start.print_config:
        print_config(configs[0])
    members = []
    for number, config in enumerate(configs):
        values = {axis.name: _readable(_get(config, axis.name)) for axis in axes}
        for seed in seeds or range(config.seed, config.seed + (start.seeds or 1)):
            members.append(Member(replace(config, seed=seed), number, values))
    _check(members, axes)
    return Sweep(
        run_dir=configs[0].run_dir,
        members=tuple(members),
        is_grid=start.random is None,
        halve_every=start.halve_every,
        at_once=start.at_once,
        rank_by=start.rank_by,
    )


def _parser() -> argparse.ArgumentParser:
    parser = start_parser()
    for flag in _COUNTS:
        parser.add_argument(flag, type=int)
    parser.add_argument("--rank-by")
    return parser


def _split(words: Sequence[str]) -> tuple[list[_Axis], list[str]]:
    """The fields that have several values, and the words that all members have in common."""
    unions = {
        f"{name.replace('_', '-')}:{member}": name
        for name, members in union_fields(TrainConfig)
        for member in (*members, "none")
    }
    flags = _flags(TrainConfig)
    common: list[str] = []
    given: dict[str, list[list[str]]] = {}
    target = common
    for word in words:
        flag, has_value, value = word.partition("=")
        field = flags.get(flag.replace("_", "-")) if word.startswith("--") else None
        if word in unions:
            given.setdefault(unions[word], []).append([word])
        elif field is not None:
            target = [flag, *([value] if has_value else [])]
            given.setdefault(field[0], []).append(target)
        else:
            target = common if word.startswith("--") else target
            target.append(word)

    axes = []
    for name, choices in given.items():
        kinds = flags.get(choices[0][0].replace("_", "-"), (name, []))[1]
        if kinds and not any(typing.get_origin(kind) is tuple for kind in kinds):
            choices = [[flag, word] for flag, *values in choices for word in values] or choices
        axis = _Axis(name, choices, float in kinds, _range(choices, float in kinds))
        if len(choices) == 1 and not axis.range:
            common += choices[0]
            continue
        if len({_key(axis, choice) for choice in choices}) < len(choices):
            raise UserError(f"{choices[0][0]}: a value stands twice")
        axes.append(axis)
    return axes, common


def _key(axis: _Axis, choice: list[str]) -> Any:
    """What two choices of the same value have in common, however it is written."""
    if axis.is_float and not axis.range and choice[1:] not in ([], ["None"]):
        return _number(*choice)
    return tuple(choice)


def _range(choices: list[list[str]], is_float: bool) -> tuple[str, float, float] | None:
    found = [(flag, _RANGE.fullmatch(words[0])) for flag, *words in choices if len(words) == 1]
    matches = [(flag, match) for flag, match in found if match]
    if not matches:
        return None
    flag, match = matches[0]
    if len(choices) > 1 or not is_float:
        raise UserError(f"{flag}: a range stands alone, and is for numbers of type float")
    low, high = _number(flag, match[2]), _number(flag, match[3])
    if not low < high or not math.isfinite(high - low) or (match[1] == "log" and low <= 0.0):
        raise UserError(f"{flag}: a range is log:LOW:HIGH, both above 0, or uniform:LOW:HIGH")
    return match[1], low, high


def _settings(axes: list[_Axis], count: int | None) -> list[tuple[list[str], ...]]:
    """For each setting one choice of each axis: all combinations, or some spread over them."""
    if count is None:
        for axis in axes:
            if axis.range:
                raise UserError(f"{axis.choices[0][0]}: a range needs --random N")
        return list(itertools.product(*(axis.choices for axis in axes)))
    if not axes:
        raise UserError("--random: no flag has a range, or several values to draw from")
    from scipy.stats import qmc  # slow to import

    # Halton's sequence covers each axis evenly, however many settings there are; chance does not.
    places = qmc.Halton(len(axes), rng=np.random.default_rng(0)).random(count)
    return [tuple(axis.at(u) for axis, u in zip(axes, row, strict=True)) for row in places]


def _configs(
    default: TrainConfig,
    common: list[str],
    axes: list[_Axis],
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
                config = _put(config, axis.name, None if words[1] == "None" else _number(*words))
        configs.append(config)
    return configs


def _check(members: list[Member], axes: list[_Axis]) -> None:
    first = members[0].config
    for axis in axes:
        others = [_put(first, axis.name, _get(member.config, axis.name)) for member in members]
        if any(other != first and for_device(other) == for_device(first) for other in others):
            raise UserError(f"{axis.choices[0][0]}: must be the same for all members")
    problems = [problem for member in members for problem in find_problems(member.config)]
    refuse(dict.fromkeys(problems))
    structures = {jax.tree.structure(for_device(m.config)): m.config for m in members}
    for config in structures.values():
        if config.loader.stream:
            raise UserError("loader.stream: a sweep holds its data on the devices")
        if config.mesh.fsdp * config.mesh.tensor > 1:
            raise UserError("mesh: each member of a sweep is trained on one device")
        check_run(replace(config, mesh=MeshConfig(data=1)))


def _number(flag: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UserError(f"{flag}: must be a float, got {text}") from None


def _integer(flag: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UserError(f"{flag}: must be an int, got {text}") from None


def _get(config: Any, name: str) -> Any:
    for part in name.split("."):
        config = getattr(config, part)
    return config


def _put(config: Any, name: str, value: Any) -> Any:
    first, _, rest = name.partition(".")
    return replace(config, **{first: _put(getattr(config, first), rest, value) if rest else value})


def _readable(value: Any) -> Any:
    return type(value).__name__.lower() if is_config(value) else value


def _flags(cls: type, prefix: str = "") -> dict[str, tuple[str, list[Any]]]:
    """For each flag the dotted name of its field, and the types of value that it takes."""
    found: dict[str, tuple[str, list[Any]]] = {}
    for name, annotation in typing.get_type_hints(cls, include_extras=True).items():
        dotted, members = prefix + name, alternatives(annotation)
        configs = [member for member in members if is_registered(member)]
        for config in configs:
            found |= _flags(config, dotted + ".")
        if not configs:
            for flag in ("--" + dotted.replace("_", "-"), *_aliases(annotation)):
                found[flag] = (dotted, members)
    return found


def _aliases(annotation: Any) -> Iterator[str]:
    """Short flags, as `tyro.conf.arg(aliases=...)` notes them in an annotation."""
    for entry in getattr(annotation, "__metadata__", ()):
        yield from getattr(entry, "aliases", None) or ()
    for argument in typing.get_args(annotation):
        yield from _aliases(argument)

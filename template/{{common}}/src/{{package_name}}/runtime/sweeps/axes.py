"""The axes of a sweep: which flags have several values or a range, and the settings they make."""

import itertools
import math
import re
import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...configs import TrainConfig
from ...core.annotations import alternatives
from ...core.errors import UserError
from ...core.pytrees import is_registered, union_fields
from ..flags import python_word

_RANGE = re.compile(r"(log|uniform):([^:]+):([^:]+)")


@dataclass(frozen=True)
class Axis:
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


def split_axes(words: Sequence[str]) -> tuple[list[Axis], list[str]]:
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
            if any(len(choice) == 1 for choice in choices):
                raise UserError(f"{choices[0][0]}: a value is missing")
            choices = [
                [flag, python_word(word, kinds)] for flag, *values in choices for word in values
            ]
        axis = Axis(name, choices, float in kinds, _range(choices, float in kinds))
        if len(choices) == 1 and not axis.range:
            common += choices[0]
            continue
        if len({_key(axis, choice) for choice in choices}) < len(choices):
            raise UserError(f"{choices[0][0]}: a value stands twice")
        axes.append(axis)
    return axes, common


def _key(axis: Axis, choice: list[str]) -> Any:
    """What two choices of the same value have in common, however it is written."""
    if axis.is_float and not axis.range and choice[1:] not in ([], ["None"]):
        return to_number(*choice)
    return tuple(choice)


def _range(choices: list[list[str]], is_float: bool) -> tuple[str, float, float] | None:
    found = [(flag, _RANGE.fullmatch(words[0])) for flag, *words in choices if len(words) == 1]
    matches = [(flag, match) for flag, match in found if match]
    if not matches:
        return None
    flag, match = matches[0]
    if len(choices) > 1 or not is_float:
        raise UserError(f"{flag}: a range stands alone, and is for numbers of type float")
    low, high = to_number(flag, match[2]), to_number(flag, match[3])
    if not low < high or not math.isfinite(high - low) or (match[1] == "log" and low <= 0.0):
        raise UserError(f"{flag}: a range is log:LOW:HIGH, both above 0, or uniform:LOW:HIGH")
    return match[1], low, high


def draw_settings(axes: list[Axis], count: int | None) -> list[tuple[list[str], ...]]:
    """For each setting one choice of each axis: all combinations, or some spread over them.

    No setting stands twice, so that there may be fewer than `count`.
    """
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
    drawn = [[axis.at(u) for axis, u in zip(axes, row, strict=True)] for row in places]
    return list({tuple(map(tuple, setting)): tuple(setting) for setting in drawn}.values())


def to_number(flag: str, text: str) -> float:
    """The float that a flag was given."""
    try:
        return float(text)
    except ValueError:
        raise UserError(f"{flag}: must be a float, got {text}") from None


def to_integer(flag: str, text: str) -> int:
    """The int that a flag was given."""
    try:
        return int(text)
    except ValueError:
        raise UserError(f"{flag}: must be an int, got {text}") from None


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

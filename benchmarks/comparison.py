"""Times of several contenders, compared round by round, and goals that are met or missed.

Plain arithmetic, so that it can be tested without any of the libraries that it compares.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Ratio:
    """How many times as long one contender takes as another, over the rounds of one run."""

    median: float
    smallest: float
    largest: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.smallest:.2f}-{self.largest:.2f})"


def ratio(times: Sequence[float], base: Sequence[float]) -> Ratio:
    """Of two lists of times, one each a round: neighbours in time meet the same machine.

    Raises:
        ValueError: the lists are empty or of different length.
    """
    if not base or len(times) != len(base):
        raise ValueError(f"{len(times)} times and {len(base)} of the other; as many of each")
    quotients = [mine / other for mine, other in zip(times, base, strict=True)]
    return Ratio(statistics.median(quotients), min(quotients), max(quotients))


def median(found: Ratio) -> float:
    """To sort by."""
    return found.median


@dataclass(frozen=True)
class Goal:
    """A bound that was set before anything was measured."""

    text: str
    value: float | None
    """What was measured; None if it was not."""
    bound: float
    is_lowest: bool = True
    """Whether the value has to reach the bound, or to stay at or below it."""
    unit: str = "x"

    @property
    def is_met(self) -> bool | None:
        """None where nothing was measured."""
        if self.value is None:
            return None
        return self.value >= self.bound if self.is_lowest else self.value <= self.bound

    def __str__(self) -> str:
        verdict = {True: "met", False: "MISSED", None: "not measured"}[self.is_met]
        sign = ">=" if self.is_lowest else "<="
        found = "" if self.value is None else f": {self.value:.2f}{self.unit}"
        return f"{verdict:<12} {self.text}, {sign} {self.bound:g}{self.unit}{found}"


def closest(ratios: Mapping[str, Ratio], names: Iterable[str]) -> float | None:
    """The smallest median among some peers; None if none of them was measured."""
    found = [ratios[name].median for name in names if name in ratios]
    return min(found, default=None)


def cure(name: str, plain: Ratio, threshold: float = 1.05) -> str:
    """One sentence on whether a cure is still worth its lines."""
    if plain.median >= threshold:
        return f"{name} helps: without it a step takes {plain} times as long"
    return f"{name} NO LONGER HELPS: without it a step takes {plain} times as long"


def disagreement(losses: Sequence[float], expected: Sequence[float]) -> float:
    """The largest relative difference of two lists of losses.

    Raises:
        ValueError: they are of different length.
    """
    pairs = zip(losses, expected, strict=True)
    return max(abs(mine - other) / abs(other) for mine, other in pairs)


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)

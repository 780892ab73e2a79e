"""The picture of a sweep: curves of all members, and how settings compare."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...training.metrics import HIGHER_IS_BETTER
from ..plots import save_figure
from ..run_folder import FIGURES
from ..tracking import read_metrics
from .folder import in_text
from .results import SweepResults


def draw_sweep(results: SweepResults, metric: str) -> Path:
    """Draw the held-out metric of each member over the steps, and of each setting over its values.

    Two swept fields in all combinations make a heat map; one makes points; more, or values drawn at
    random, a line for each setting through all of its values.

    Returns:
        The picture, `figures/sweep.png` in the folder of the sweep.
    """
    sweep = results.sweep
    ranking = [(mean, setting) for mean, setting in results.ranking(metric) if math.isfinite(mean)]
    settings = {member.setting: member.values for member in sweep.members}
    names = list(sweep.members[0].values)
    figure = Figure(figsize=(11.5, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_curves(left, results, metric, [setting for _, setting in ranking])
    chosen = [[settings[setting][name] for name in names] for _, setting in ranking]
    means = [mean for mean, _ in ranking]
    if len(names) == 2 and sweep.is_grid:
        _draw_heat_map(right, names, chosen, means, metric)
    elif len(names) == 1:
        _draw_points(right, names[0], [values[0] for values in chosen], means, metric)
    else:
        _draw_lines(right, [*names, f"eval/{metric}"], chosen, means)
    return save_figure(figure, results.folder / FIGURES / "sweep.png")


def _draw_curves(axes: Axes, results: SweepResults, metric: str, best_first: list[int]) -> None:
    places = {setting: place for place, setting in enumerate(best_first)}
    lines = read_metrics(results.folder)
    for number, member in enumerate(results.sweep.members):
        points = [
            (line["step"], line[f"eval/{metric}"])
            for line in lines
            if line.get("member") == number and f"eval/{metric}" in line
        ]
        if points and member.setting in places:
            place = places[member.setting]
            color = _color(place, len(places))
            axes.plot(*zip(*points, strict=True), marker=".", color=color, zorder=-place)
    axes.set_xlabel("step")
    axes.set_ylabel(f"eval/{metric}")
    axes.set_title("each member, the best settings dark")
    axes.grid(alpha=0.3)


def _draw_points(
    axes: Axes, name: str, values: Sequence[Any], means: list[float], metric: str
) -> None:
    ticks = _Ticks(values)
    axes.plot([ticks.place(value) for value in values], means, "o")
    axes.set_xticks(ticks.places, ticks.labels)
    axes.set_xlabel(name)
    axes.set_ylabel(f"eval/{metric}")
    axes.set_title("each setting, mean over its seeds")
    axes.grid(alpha=0.3)


def _draw_heat_map(
    axes: Axes, names: list[str], chosen: list[list[Any]], means: list[float], metric: str
) -> None:
    columns, rows = (_ordered([values[axis] for values in chosen]) for axis in (0, 1))
    table = np.full((len(rows), len(columns)), np.nan)
    for (column, row), mean in zip(chosen, means, strict=True):
        table[rows.index(row), columns.index(column)] = mean
    colors = "viridis_r" if metric in HIGHER_IS_BETTER else "viridis"  # the best dark, as at left
    image = axes.imshow(table, cmap=colors, aspect="auto", origin="lower")
    if table.size <= 100:
        middle = np.nanmean([np.nanmin(table), np.nanmax(table)])
        for (row, column), value in np.ndenumerate(table):
            is_dark = (value < middle) == (metric not in HIGHER_IS_BETTER)
            color = "white" if is_dark else "black"
            axes.text(column, row, f"{value:.4g}", ha="center", va="center", color=color)
    axes.set_xticks(range(len(columns)), map(in_text, columns))
    axes.set_yticks(range(len(rows)), map(in_text, rows))
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    axes.set_title(f"eval/{metric}, mean over seeds")
    axes.figure.colorbar(image, ax=axes)


def _draw_lines(axes: Axes, names: list[str], chosen: list[list[Any]], means: list[float]) -> None:
    """Parallel coordinates: an upright for each field, a line for each setting."""
    table = [[*values, mean] for values, mean in zip(chosen, means, strict=True)]
    uprights = [_Ticks([row[column] for row in table]) for column in range(len(names))]
    for place, row in reversed(list(enumerate(table))):
        heights = [ticks.place(value) for ticks, value in zip(uprights, row, strict=True)]
        axes.plot(heights, color=_color(place, len(table)), marker=".")
    for column, ticks in enumerate(uprights):
        axes.axvline(column, color="black", linewidth=0.8)
        for place, label in zip(ticks.places, ticks.labels, strict=True):
            axes.annotate(label, (column, place), (3, 2), textcoords="offset points", fontsize=8)
    axes.set_xticks(range(len(names)), names, rotation=15, ha="right")
    axes.set_yticks([])
    axes.set_title("each setting, the best dark")


class _Ticks:
    """Places from 0 to 1 for the values of a field: numbers to scale, all else evenly."""

    def __init__(self, values: Sequence[Any]):
        """Find the scale: logarithmic where numbers span more than a factor of 20."""
        self._known = _ordered(values)
        self._numbers = all(type(value) in (int, float) for value in self._known)
        low, high = self._known[0], self._known[-1]
        self._log = self._numbers and low > 0 and high > 20 * low
        few = len(self._known) <= 6
        shown = self._known if few or not self._numbers else [low, high]
        self.places = [self.place(value) for value in shown]
        self.labels = [f"{v:.4g}" if self._numbers else in_text(v) for v in shown]

    def place(self, value: Any) -> float:
        """Where a value stands."""
        if not self._numbers:
            return self._known.index(value) / max(1, len(self._known) - 1)
        scale = math.log if self._log else float
        low, high = scale(self._known[0]), scale(self._known[-1])
        return (scale(value) - low) / (high - low) if high > low else 0.5


def _ordered(values: Sequence[Any]) -> list[Any]:
    """Distinct values, numbers by size and all else as they come."""
    distinct = list(dict.fromkeys(values))
    numbers = all(type(value) in (int, float) for value in distinct)
    return sorted(distinct) if numbers else distinct


def _color(place: int, count: int) -> tuple[float, ...]:
    return colormaps["viridis"](0.95 * place / max(1, count - 1))

"""The curves of a run, drawn from its metrics log."""

from pathlib import Path

from matplotlib.figure import Figure

from .run_folder import FIGURES
from .tracking import read_metrics


def draw_curves(run_dir: Path) -> list[Path]:
    """Draw each metric over the steps, training and evaluation together.

    Returns:
        The pictures, `figures/<metric>.png` in the run folder.
    """
    lines = read_metrics(run_dir)
    evaluated = sorted({n.removeprefix("eval/") for line in lines for n in line if "eval/" in n})
    return [_draw(run_dir, lines, name) for name in evaluated]


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure, making its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    return path


def _draw(run_dir: Path, lines: list[dict[str, float]], name: str) -> Path:
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    for label, key in (("training", name), ("held out", f"eval/{name}")):
        points = [(line["step"], line[key]) for line in lines if key in line]
        axes.plot(*zip(*points, strict=True), marker=".", label=label)
    axes.set_xlabel("step")
    axes.set_ylabel(name)
    axes.grid(alpha=0.3)
    axes.legend()
    return save_figure(figure, run_dir / FIGURES / f"{name}.png")

"""The benchmark's tables and picture."""

import datetime
import os
import platform
import statistics
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import startup
import sweep
from comparison import cure, markdown, median, ratio
from measured import CURES, FLAX, LABELS, PROJECT, TORCH, Measured, goals

MEGABYTE = 2**20
BEGIN = "<!-- what `nox -s bench -- --write` writes begins here -->"
END = "<!-- and ends here -->"
LIBRARIES = ("jax", "equinox", "optax", "flax", "torch")
WAYS = {
    "donated": "the state donated",
    "kept": "the state not donated",
    "100 steps": "chunks of 100",
    "accumulate": "a batch in 4 parts",
    "remat": "activations computed again",
    "remat, accumulate": "both",
    "loss.chunk": "logits of 16 places at a time",
}


def machine() -> str:
    """One line: when, on what, with which versions, and how busy it was at the start."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [x for x in info.read_text().splitlines() if x.startswith("model name")]
        name = models[0].partition(":")[2].strip() if models else name
    versions = []
    for library in LIBRARIES:
        try:
            versions.append(f"{library} {version(library)}")
        except PackageNotFoundError:
            versions.append(f"no {library}")
    load = f"load {os.getloadavg()[0]:.1f} before the start" if hasattr(os, "getloadavg") else ""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    python = f"Python {platform.python_version()}"
    today = datetime.date.today().isoformat()
    return ", ".join([today, f"{cores} cores of {name}", load, python, *versions])


def report(
    machine: str,
    found: list[Measured],
    starts: list[tuple[float, float]],
    sweeps: sweep.Times,
) -> str:
    """Everything, as Markdown."""
    parts = [f"{machine}.", *(table(m) for m in found)]
    parts.append("### What each cure is worth\n\n" + "\n".join(cure_lines(found)))
    parts.append(own_lines(found))
    if starts:
        parts.append(f"### Starts\n\n{startup.report(starts)}")
    if sweeps:
        parts.append(f"### A sweep of {sweep.MEMBERS} learning rates\n\n{sweep.report(sweeps)}")
    reached = [*goals(found), *startup.goals(starts), *sweep.goals(sweeps)]
    lines = [f"- {goal}" for goal in reached]
    return "\n\n".join([*parts, "### Goals\n\n" + "\n".join(lines)])


def inserted(page: str, report: str) -> str:
    """A page with a report in the place of the one between its two marks.

    Raises:
        ValueError: the page does not have the marks.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page needs the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{report}\n\n{END}{after}"


def short(machine: str, found: list[Measured]) -> str:
    """For the README: the closest peer of each model, and the idioms of the other libraries."""
    groups = {"PyTorch": TORCH, "Flax": FLAX, "Equinox, step by step": ("equinox",)}
    rows = []
    for m in found:
        ratios = m.ratios()
        cells = []
        for names in groups.values():
            closest = min((ratios[n] for n in names if n in ratios), key=median, default=None)
            cells.append("not measured" if closest is None else str(closest))
        rows.append([f"`{m.model}`, {m.dtype}", *cells])
    header = ["time of a step, project = 1", *groups]
    missing = {f"Not measured: {m.left_out}." for m in found if m.left_out}
    return "\n\n".join(
        [markdown(header, rows), f"Each at its fastest; {machine}.", *sorted(missing)]
    )


def table(m: Measured) -> str:
    """Times of one model in one precision, the fastest first."""
    ratios = m.ratios()
    rows = []
    for name in sorted(m.times, key=lambda n: 0.0 if n == PROJECT else ratios[n].median):
        seconds = statistics.median(m.times[name])
        base_cpu = m.cpu[PROJECT]
        rows.append(
            [
                LABELS[name],
                f"{1000 * seconds:.2f}",
                "1" if name == PROJECT else str(ratios[name]),
                "1" if name == PROJECT else f"{ratio(m.cpu[name], base_cpu).median:.2f}",
                f"{100 * m.flops / seconds / m.best_flops:.0f} %",
            ]
        )
    header = ["", "ms a step", "time, project = 1", "CPU time", "of the best product"]
    rounds = len(m.times[PROJECT])
    notes = [
        f"{rounds} rounds. A step has {m.flops / 1e9:.2f} GFLOP; the best product of matrices "
        f"reached {m.best_flops / 1e9:.0f} GFLOP/s.",
        f"First losses agree to {max(m.apart.values()):.0e}.",
    ]
    if m.left_out:
        notes.append(f"{m.left_out}: not measured.")
    return f"### {m.model}, {m.dtype}\n\n{markdown(header, rows)}\n\n{' '.join(notes)}"


def cure_lines(found: list[Measured]) -> list[str]:
    """One line for each cure that was measured."""
    return [
        f"- {m.model}, {m.dtype}: {cure(title, m.cure(name))}."
        for m in found
        for name, title in CURES[m.model].items()
        if name in m.cures
    ]


def own_lines(found: list[Measured]) -> str:
    """Memory, chunks and the host."""
    lines = []
    for m in found:
        ways = [
            f"{title} {m.memory[k] / MEGABYTE:.1f}" for k, title in WAYS.items() if k in m.memory
        ]
        if ways:
            lines.append(f"- {m.model}, {m.dtype}, MiB of a chunk's program: {', '.join(ways)}.")
        if "torch" in m.memory:
            grown = m.memory["torch"] / MEGABYTE
            lines.append(f"- {m.model}, {m.dtype}: PyTorch's process grew by {grown:.0f} MiB.")
    for m in found:
        if m.chunks:
            slower = ratio(m.chunks["10"], m.chunks["100"])
            lines.append(f"- {m.model}: a step in chunks of 10 takes {slower} of one in 100.")
        for steps, host in m.host.items():
            lines.append(
                f"- {m.model}: in chunks of {steps} the host takes {100 * host['share']:.2f} % of "
                f"a run: {host['host_ms']:.2f} ms a chunk ({host['start_ms']:.2f} to start it), in "
                f"CPU time {host['cpu_ms']:.2f} ms."
            )
    return "### Memory, chunks and the host\n\n" + "\n".join(lines)


def picture(found: list[Measured], path: Path) -> None:
    """Ratios as bars, one panel a model and precision; the smallest to the largest as a line."""
    from matplotlib.figure import Figure

    bars = [len(m.times) - 1 for m in found]
    size = (7.5, sum(0.3 * count + 1.0 for count in bars))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(found), 1, squeeze=False, height_ratios=bars)[:, 0]
    for axes, m in zip(panels, found, strict=True):
        ratios = m.ratios()
        names = sorted(ratios, key=lambda name: ratios[name].median, reverse=True)
        medians = [ratios[name].median for name in names]
        spans = [
            [ratios[n].median - ratios[n].smallest for n in names],
            [ratios[n].largest - ratios[n].median for n in names],
        ]
        axes.barh([LABELS[n].replace("`", "") for n in names], medians, xerr=spans, color="#8da0cb")
        axes.axvline(1.0, color="#d62728")
        axes.set_title(f"{m.model}, {m.dtype}")
        axes.set_xlabel("time of a step, this project = 1")
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)

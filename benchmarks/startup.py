"""How long a project takes to its first steps: the first start, and those that find its programs.

    nox -s demo -- ../try mlp
    ../try/.venv/bin/python benchmarks/startup.py ../try

Each round begins with an empty cache folder and starts `scripts/train.py` twice. The time is that
from the start of the process to the line on which it says that its first chunk of steps is done.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from comparison import Goal

STEPS, ROUNDS = 10, 3


def start(project: Path, run_dir: Path, cache: Path, steps: int) -> tuple[float, str]:
    """Seconds to the first steps, and what the project says of them."""
    env = os.environ | {"PYTHONPATH": str(project / "src")}
    env |= {name: str(cache) for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME")}
    for name in ("PYTHONDONTWRITEBYTECODE", "JAX_COMPILATION_CACHE_DIR"):
        env.pop(name, None)
    words = [sys.executable, "-u", str(project / "scripts" / "train.py"), "--steps", str(steps)]
    words += ["--run-dir", str(run_dir), "--log-every", str(steps)]
    began, found = time.perf_counter(), None
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if found is None and line.startswith("first "):
                found = time.perf_counter() - began, line.strip()
    if process.returncode or found is None:
        sys.exit(f"scripts/train.py ended with status {process.returncode}")
    return found


def measure(project: Path, steps: int, rounds: int) -> list[tuple[float, float]]:
    """Seconds of the first and of the second start in each round."""
    times: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        start(project, Path(folder, "warm"), Path(folder, "warm-cache"), steps)
        for number in range(rounds):
            cache = Path(folder, f"cache-{number}")
            runs = [Path(folder, f"{number}-{n}") for n in (1, 2)]
            (first, said), (second, said_again) = (
                start(project, run_dir, cache, steps) for run_dir in runs
            )
            times.append((first, second))
            print(f"first:  {said}\nsecond: {said_again}", file=sys.stderr)
    return times


def report(times: list[tuple[float, float]]) -> str:
    """One line."""
    first, second = (statistics.median(column) for column in zip(*times, strict=True))
    return (
        f"- mlp: {first:.1f} s from the start of the process to the end of its first chunk, "
        f"{second:.1f} s where an earlier start compiled it; {len(times)} rounds."
    )


def goals(times: list[tuple[float, float]]) -> list[Goal]:
    """What the second start should take at most."""
    share = 100 * statistics.median(b / a for a, b in times) if times else None
    text = "mlp: the second start, in parts of the first"
    return [Goal(text, share, 60.0, is_lowest=False, unit=" %")]


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the first and the second start.")
    parser.add_argument("project", type=Path, help="a rendered project")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    times = measure(options.project.resolve(), options.steps, options.rounds)
    print(report(times), *goals(times), sep="\n")


if __name__ == "__main__":
    main()

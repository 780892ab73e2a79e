"""How long a project takes to its first steps: the first start, and those that find its programs.

    nox -s demo -- ../try mlp
    ../try/.venv/bin/python benchmarks/startup.py ../try

Each round begins with an empty cache folder and starts `scripts/train.py` twice. The time is that
from the start of the process to the line on which it says that its first chunk of steps is done.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


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


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the first and the second start.")
    parser.add_argument("project", type=Path, help="a rendered project")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    project = options.project.resolve()
    times: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        start(project, Path(folder, "warm"), Path(folder, "warm-cache"), options.steps)
        for number in range(options.rounds):
            cache = Path(folder, f"cache-{number}")
            runs = [Path(folder, f"{number}-{n}") for n in (1, 2)]
            (first, said), (second, said_again) = (
                start(project, run_dir, cache, options.steps) for run_dir in runs
            )
            times.append((first, second))
            print(f"first:  {said}\nsecond: {said_again}")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    first, second = (statistics.median(column) for column in zip(*times, strict=True))
    share = statistics.median(b / a for a, b in times)
    print(f"Python {platform.python_version()}, {cores} cores, {options.rounds} rounds")
    print(f"first start {first:.1f} s, second {second:.1f} s: {share:.0%} of the first")


if __name__ == "__main__":
    main()

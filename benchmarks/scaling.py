"""Examples a second of a project on 1 to 8 fake devices, and with data that is streamed.

    nox -s demo -- ../try transformer
    ../try/.venv/bin/python benchmarks/scaling.py ../try

Fake devices share the cores of this machine: what the table can show is what dividing the work
costs, and not what more devices would gain. All rows run in turns, in one run of this script.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROWS = {
    "1 device": (1, []),
    "1 device, streamed": (1, ["--loader.stream", "True"]),
    "2 x data": (2, []),
    "4 x data": (4, []),
    "8 x data": (8, []),
    "4 x data, 2 x fsdp": (8, ["--mesh.fsdp", "2"]),
    "4 x data, 2 x tensor": (8, ["--mesh.tensor", "2"]),
    "1 device, saved every chunk": (1, ["--save-every", "20"]),
}


def speed(project: Path, devices: int, flags: list[str], steps: int) -> float:
    """Steps a second, the median over the chunks of a run."""
    environment = os.environ | {
        "PYTHONPATH": str(project / "src"),
        "JAX_PLATFORMS": "cpu",
        "JAX_NUM_CPU_DEVICES": str(devices),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        run_dir = Path(folder, "run")
        words = [sys.executable, str(project / "scripts" / "train.py"), "--run-dir", str(run_dir)]
        words += ["--steps", str(steps), "--log-every", "20", "--eval-every", "100000"]
        words += ["--save-every", "100000", *flags]
        subprocess.run(words, env=environment, check=True, stdout=subprocess.DEVNULL)
        lines = (run_dir / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    speeds = [entry.get("steps_per_second") for entry in map(json.loads, lines)]
    return statistics.median(value for value in speeds if value is not None)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare meshes and loaders.")
    parser.add_argument("project", type=Path, help="a rendered project")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=32)
    options = parser.parse_args()
    project, size = options.project.resolve(), options.batch_size
    speeds: dict[str, list[float]] = {name: [] for name in ROWS}
    for _ in range(options.rounds):
        for name, (devices, flags) in ROWS.items():
            flags = [*flags, "--data.batch-size", str(size)]
            speeds[name].append(speed(project, devices, flags, options.steps))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"Python {platform.python_version()}, {cores} cores shared by all fake devices")
    print(f"{'':<28} {'examples/s':>11} {'a device':>9} {'of 1 device':>12} (min, max)")
    for name, (devices, _) in ROWS.items():
        ratios = [a / b for a, b in zip(speeds[name], speeds["1 device"], strict=True)]
        rate = statistics.median(speeds[name]) * size
        middle = statistics.median(ratios)
        shares = f"{middle:>12.2f} ({min(ratios):.2f}, {max(ratios):.2f})"
        print(f"{name:<28} {rate:>11,.0f} {rate / devices:>9,.0f} {shares}")


if __name__ == "__main__":
    main()

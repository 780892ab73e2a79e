"""What a sweep of many learning rates takes, against other ways to train the same members.

    nox -s demo -- ../try mlp
    ../try/.venv/bin/python benchmarks/sweep.py ../try

Each way is timed from outside, as processes that start, import, load, compile and train:

- `sweep`: `scripts/sweep.py`, with all that it writes;
- `processes`: `scripts/train.py` for each rate, one process after another;
- `recompiled`: one process that compiles for each rate, as where it is a constant of the program;
- `in turn`: one process that compiles once and trains one member after another.

The last two write nothing, draw nothing and save nothing: they are the least that it can take.
No way uses compiled programs of an earlier one.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

LOOP = """
import importlib, json, sys
package, rates, steps, again = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
import jax
from dataclasses import replace
names = ("configs", "core.keys", "data.pipeline", "data.sources", "training.loops")
configs, keys, pipeline, sources, loops = (importlib.import_module(f"{package}.{n}") for n in names)
state_module = importlib.import_module(f"{package}.training.state")
evaluate = importlib.import_module(f"{package}.runtime.evaluation").evaluate_params
base = configs.TrainConfig()
data, held_out = (sources.load_split(base.data, split) for split in ("train", "test"))
size, batch, every = sources.num_examples(data), base.data.batch_size, base.log_every
for rate in rates:
    if again == "again":
        jax.clear_caches()
    optimizer = replace(base.optimizer, learning_rate=rate)
    config = configs.for_device(replace(base, optimizer=optimizer))
    state = jax.device_put(state_module.init_state(config, keys.root_key(0)), jax.devices()[0])
    for step in range(0, steps, every):
        count = min(every, steps - step)
        order = pipeline.example_order(size, 0, step * batch, count * batch)
        state, metrics = loops.train_chunk(state, data, order.reshape(count, batch), config)
        jax.device_get(metrics)
    evaluate(state.eval_params, state.eval_model_state, held_out, config)
"""


def ways(project: Path, rates: list[float], steps: int, folder: Path) -> dict[str, Callable]:
    """A function for each way that runs it once."""
    package = next(project.glob("src/*/configs.py")).parent.name
    env = os.environ | {
        "PYTHONPATH": str(project / "src"),
        "JAX_ENABLE_COMPILATION_CACHE": "false",
    }
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    common = ["--steps", str(steps)]

    def run(*words: str) -> None:
        subprocess.run([sys.executable, *words], check=True, env=env, stdout=subprocess.DEVNULL)

    def fresh() -> str:
        return tempfile.mkdtemp(dir=folder)

    def sweep() -> None:
        script = str(project / "scripts" / "sweep.py")
        run(script, "--run-dir", fresh(), *common, "--lr", *map(str, rates))

    def processes() -> None:
        script = str(project / "scripts" / "train.py")
        for rate in rates:
            run(script, "--run-dir", fresh(), *common, "--lr", str(rate))

    def loop(again: str) -> Callable:
        return lambda: run("-c", LOOP, package, str(rates), str(steps), again)

    return {
        "sweep": sweep,
        "processes": processes,
        "recompiled": loop("again"),
        "in turn": loop("once"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare ways to train many members.")
    parser.add_argument("project", type=Path, help="a rendered project")
    parser.add_argument("--members", type=int, default=16)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rates = [float(f"{rate:.4g}") for rate in np.geomspace(1e-4, 1e-2, options.members)]

    with tempfile.TemporaryDirectory() as folder:
        known = ways(options.project.resolve(), rates, options.steps, Path(folder))
        known["in turn"]()  # byte code and files are warm from here on
        times: dict[str, list[float]] = {name: [] for name in known}
        for _ in range(options.rounds):
            for name, way in known.items():
                start = time.perf_counter()
                way()
                times[name].append(time.perf_counter() - start)

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"Python {platform.python_version()}, {cores} cores, {options.members} members", end="")
    print(f", {options.steps} steps, {options.rounds} rounds")
    for name, seconds in times.items():
        ratios = [mine / other for mine, other in zip(times["sweep"], seconds, strict=True)]
        print(
            f"{name:>10}: {statistics.median(seconds):7.1f} s "
            f"(from {min(seconds):.1f} to {max(seconds):.1f}); "
            f"the sweep takes {statistics.median(ratios):.3f} of it"
        )


if __name__ == "__main__":
    main()

"""What a sweep of many learning rates takes, against other ways to train the same members.

    nox -s demo -- ../try mlp
    ../try/.venv/bin/python benchmarks/sweep.py ../try

Each way is timed from outside, as processes that start, import, load, compile and train:

- `sweep`: `scripts/sweep.py`, with all that it writes;
- `processes`: `scripts/train.py` for each rate, one process after another;
- `recompiled`: one process that compiles for each rate, as where it is a constant of the program;
- `in turn`: one process that compiles once and calls `train` for one rate after another;
- `bare`: as `in turn`, but a loop that writes, saves and draws nothing: the least it can take.

No way uses compiled programs of an earlier one. Seconds of all cores are more telling than those of
the clock where a machine does something else as well.
"""

import argparse
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

TRAIN = """
import importlib, json, sys
from dataclasses import replace
from pathlib import Path
package, rates, steps, folder, again = sys.argv[1:]
import jax
configs, run = (importlib.import_module(f"{package}.{name}") for name in ("configs", "runtime.run"))
base = configs.TrainConfig(steps=int(steps))
for rate in json.loads(rates):
    if again == "again":
        jax.clear_caches()
    optimizer = replace(base.optimizer, learning_rate=rate)
    run.train(replace(base, optimizer=optimizer, run_dir=Path(folder, str(rate))))
"""

BARE = """
import importlib, json, sys
from dataclasses import replace
package, rates, steps = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
import jax
names = ("configs", "core.keys", "data.pipeline", "data.sources", "training.loops")
configs, keys, pipeline, sources, loops = (importlib.import_module(f"{package}.{n}") for n in names)
init_state = importlib.import_module(f"{package}.training.state").init_state
base = configs.TrainConfig()
data, held_out = (sources.load_split(base.data, split) for split in ("train", "test"))
size, batch, every = sources.num_examples(data), base.data.batch_size, base.log_every
batches = pipeline.padded_batches(sources.num_examples(held_out), base.data.eval_batch_size)
for rate in rates:
    optimizer = replace(base.optimizer, learning_rate=rate)
    config = configs.for_device(replace(base, optimizer=optimizer))
    state = jax.device_put(init_state(config, keys.root_key(0)), jax.devices()[0])
    for step in range(0, steps, every):
        count = min(every, steps - step)
        order = pipeline.example_order(size, 0, step * batch, count * batch)
        state, metrics = loops.train_chunk(state, data, order.reshape(count, batch), config)
        jax.device_get(metrics)
    params, model_state = state.eval_params, state.eval_model_state
    jax.device_get(loops.evaluate(params, model_state, held_out, *batches, config))
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

    def train(again: str) -> None:
        run("-c", TRAIN, package, str(rates), str(steps), fresh(), again)

    return {
        "sweep": sweep,
        "processes": processes,
        "recompiled": lambda: train("again"),
        "in turn": lambda: train("once"),
        "bare": lambda: run("-c", BARE, package, str(rates), str(steps)),
    }


def cpu_seconds() -> float:
    """What all processes that have ended took of all cores."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


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
        known["bare"]()  # byte code and files are warm from here on
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in known}
        for _ in range(options.rounds):
            for name, way in known.items():
                start, cpu = time.perf_counter(), cpu_seconds()
                way()
                times[name].append((time.perf_counter() - start, cpu_seconds() - cpu))

    cores = len(os.sched_getaffinity(0))
    print(f"Python {platform.python_version()}, {cores} cores, {options.members} members", end="")
    print(f", {options.steps} steps, {options.rounds} rounds; the sweep's share in brackets")
    sweep = np.array(times["sweep"])
    for name, seconds in times.items():
        clock, cpu = np.median(seconds, axis=0)
        ratios = np.median(sweep / np.array(seconds), axis=0)
        print(
            f"{name:>10}: {clock:7.1f} s ({ratios[0]:.3f}), {cpu:7.1f} s of cores ({ratios[1]:.3f})"
        )


if __name__ == "__main__":
    main()

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
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from comparison import Goal, markdown

MEMBERS, STEPS = 16, 100
WAYS = {
    "sweep": "`scripts/sweep.py`",
    "processes": "a process of `scripts/train.py` for each",
    "recompiled": "one process that compiles for each",
    "in turn": "one process that calls `train` for each",
    "bare": "a bare loop that writes and saves nothing",
}
Times = dict[str, list[tuple[float, float]]]

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


def measure(project: Path, members: int, steps: int, rounds: int) -> Times:
    """Seconds of the clock and of all cores together, of each way in each round."""
    ratio = 100 ** (1 / max(members - 1, 1))
    rates = [float(f"{1e-4 * ratio**number:.4g}") for number in range(members)]
    with tempfile.TemporaryDirectory() as folder:
        known = ways(project, rates, steps, Path(folder))
        known["bare"]()  # byte code and files are warm from here on
        times: Times = {name: [] for name in known}
        for _ in range(rounds):
            for name, way in known.items():
                print(f"sweep: {name}", file=sys.stderr, flush=True)
                start, cpu = time.perf_counter(), cpu_seconds()
                way()
                times[name].append((time.perf_counter() - start, cpu_seconds() - cpu))
    return times


def share(times: Times, name: str, column: int = 0) -> float:
    """What the sweep takes of the time of another way; column 1 is that of the cores."""
    pairs = zip(times["sweep"], times[name], strict=True)
    return statistics.median(mine[column] / other[column] for mine, other in pairs)


def report(times: Times) -> str:
    """A table."""
    rows = []
    for name, seconds in times.items():
        clock, cpu = (statistics.median(column) for column in zip(*seconds, strict=True))
        shares = [f"{share(times, name, column):.2f}" for column in (0, 1)]
        rows.append([WAYS[name], f"{clock:.1f}", f"{cpu:.1f}", *shares])
    header = ["", "s", "s of cores", "the sweep takes", "of the cores"]
    return markdown(header, rows)


def goals(times: Times) -> list[Goal]:
    """What a sweep should take of the time of other ways, at most."""
    return [
        Goal(
            f"a sweep, in parts of {WAYS[name]}",
            share(times, name) if times else None,
            bound,
            is_lowest=False,
        )
        for name, bound in {"processes": 1 / 8, "recompiled": 1 / 2, "in turn": 1.1}.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare ways to train many members.")
    parser.add_argument("project", type=Path, help="a rendered project")
    parser.add_argument("--members", type=int, default=MEMBERS)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    project = options.project.resolve()
    times = measure(project, options.members, options.steps, options.rounds)
    print(report(times), "", *goals(times), sep="\n")


if __name__ == "__main__":
    main()

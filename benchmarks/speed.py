"""The rendered project's training loop and its peers, side by side in one run.

    nox -s bench
    nox -s bench -- --quick

Every contender starts from the same parameters and sees the same batches, and their first losses
must agree. Then they take turns, round by round. Each library has processes of its own. What came
out goes to build/bench: the tables as report.md, all numbers as report.json, and a picture. With
`--write` tables and picture also go into docs/speed.md, in the place of those of an earlier run.
"""

import argparse
import dataclasses
import json
import sys
from contextlib import ExitStack
from pathlib import Path

import speed_report
import startup
import sweep
from comparison import disagreement
from contenders.turns import Contender, Worker, take_turns
from measured import CURES, LABELS, PROJECT, Measured

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "build" / "bench"
TORCH = ("torch", "torch tuned", "torch compiled")
# Left out of a quick run: they take long to compile, or are not the best of their library.
SLOW = ("jit", "linen", "nnx.jit", "torch", "torch compiled")
TOLERANCE = {"float32": 1e-4, "bfloat16": 2e-2}
CHECKED_STEPS = 5
# From here on a turn takes minutes: the CPU cannot compute so, and a library does it bit by bit.
HOPELESS = 10


def say(text: str) -> None:
    """Where a run is; it takes minutes."""
    print(text, file=sys.stderr, flush=True)


def measure(model: str, dtype: str, options: argparse.Namespace) -> Measured:
    """Everything about one model in one precision.

    Raises:
        RuntimeError: the losses of a contender are not those of the project.
    """
    found = Measured(model, dtype)
    problem = options.out / f"{model}-{dtype}.npz"
    with ExitStack() as stack:

        def start(library: str) -> Worker:
            say(f"{model} {dtype}: starting {library}")
            return stack.enter_context(Worker(library, model, dtype, options.projects, problem))

        jax = start("jax")
        workers = {name: jax for name in LABELS if name not in TORCH}
        try:
            torch = start("torch")
        except RuntimeError:
            found.left_out = "PyTorch is not installed"
        else:
            times_slower = product_seconds(torch) / product_seconds(jax)
            if times_slower < HOPELESS:
                workers |= dict.fromkeys(TORCH, torch)
            else:
                found.left_out = (
                    f"PyTorch, whose product of matrices takes {times_slower:.0f} times as long as "
                    f"JAX's in {dtype} on this CPU"
                )
        # A turn is long against the clock, and short against a busy moment of the machine.
        steps = 100 if model == "mlp" else 5 if options.quick else 10
        contenders = {
            name: Contender(worker, name, steps)
            for name, worker in workers.items()
            if not (options.quick and name in SLOW)
        }
        check_losses(found, contenders)
        libraries = {"jax": jax} | ({"torch": workers["torch"]} if "torch" in workers else {})
        products = {f"matmul {k}": Contender(w, "matmul", 2) for k, w in libraries.items()}
        say(f"{model} {dtype}: taking turns")
        take_turns(contenders | products, options.rounds)
        found.times = {name: contender.times for name, contender in contenders.items()}
        found.cpu = {name: contender.cpu for name, contender in contenders.items()}
        fastest = min(min(c.times) for c in products.values())
        found.best_flops = jax.ask("matmul flops")["flops"] / fastest
        found.flops = jax.ask("flops")["flops"]
        if model == "mlp" or not options.quick:
            found.memory = jax.ask("memory")
        if "torch" in workers:
            found.memory["torch"] = workers["torch"].ask("growth")["bytes"]
        # A plain convolution in a loop takes minutes, and in bfloat16 more of them.
        if dtype == "float32" or model != "cnn":
            cures(found, jax, options)
        if dtype == "float32":
            chunks_and_host(found, jax, options)
    return found


def product_seconds(worker: Worker) -> float:
    """Of one large product of matrices, to see whether the CPU has what a library needs for it."""
    product = Contender(worker, "matmul", 1)
    product.warm()
    product.turn()
    return product.times[0]


def check_losses(found: Measured, contenders: dict[str, Contender]) -> None:
    """All compute the same, or there is nothing to compare."""
    for name, contender in contenders.items():
        say(f"{found.model} {found.dtype}: compiling {LABELS.get(name, name)}")
        losses = contender.first(CHECKED_STEPS if name in LABELS else 2)
        found.losses = found.losses or losses
        found.apart[name] = disagreement(losses, found.losses[: len(losses)])
        if not found.apart[name] <= TOLERANCE[found.dtype]:
            raise RuntimeError(f"losses of {name}: {losses}; of the project: {found.losses}")
        contender.warm()


def cures(found: Measured, jax: Worker, options: argparse.Namespace) -> None:
    """The project alone: each cure against the plain form."""
    model = found.model
    say(f"{model} {found.dtype}: what each cure is worth")
    # Each is a program to compile, and a plain convolution in a loop takes minutes.
    for name in CURES[model] if model == "mlp" or not options.quick else ():
        few = name == "convolution"
        pair = {
            "with": Contender(jax, PROJECT, 2 if few else 10, calls=5 if model == "mlp" else 1),
            "without": Contender(jax, name, 2 if few else 10, calls=5 if model == "mlp" else 1),
        }
        check_losses(found, {name: pair["without"]})
        pair["with"].warm()
        take_turns(pair, 3 if few else options.rounds)
        found.cures[name] = {key: contender.times for key, contender in pair.items()}


def chunks_and_host(found: Measured, jax: Worker, options: argparse.Namespace) -> None:
    """The project alone: chunks of 10 and of 100 steps, and the host's share of a run."""
    model = found.model
    say(f"{model}: chunks, and the host")
    if model == "mlp" or not options.quick:
        pair = {"10": Contender(jax, PROJECT, 10, calls=10), "100": Contender(jax, PROJECT, 100)}
        for contender in pair.values():
            contender.warm()
        take_turns(pair, options.rounds if model == "mlp" else 3)
        found.chunks = {key: contender.times for key, contender in pair.items()}
    # 50 steps is what a project has by default.
    lengths = (10, 50) if model == "mlp" else (5,) if options.quick else (10,)
    for steps in lengths:
        found.host[f"{steps}"] = jax.ask("host", arguments=[steps, 4 if options.quick else 8])


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("projects", type=Path, help="a folder with a project for each model")
    parser.add_argument("--quick", action="store_true", help="float32, few rounds, fewer peers")
    parser.add_argument("--rounds", type=int, help="turns of each contender")
    parser.add_argument("--out", type=Path, default=OUT, help="a folder for report and picture")
    parser.add_argument("--write", action="store_true", help="put the results into docs/speed.md")
    parser.add_argument("--models", nargs="+", choices=list(CURES), default=list(CURES))
    precisions = {"choices": list(TOLERANCE), "default": list(TOLERANCE)}
    parser.add_argument("--dtypes", nargs="+", **precisions, help="--quick has float32 alone")
    options = parser.parse_args()
    options.rounds = options.rounds or (3 if options.quick else 7)
    options.out.mkdir(parents=True, exist_ok=True)
    machine = speed_report.machine()
    found, numbers = [], {}
    for dtype in ["float32"] if options.quick else options.dtypes:
        for model in options.models:
            found.append(measure(model, dtype, options))
            # After each, so that a run that is cut short leaves what it has.
            numbers = {"machine": machine, "found": [dataclasses.asdict(m) for m in found]}
            (options.out / "report.json").write_text(json.dumps(numbers, indent=1) + "\n")
    starts, sweeps = [], {}
    if not options.quick and "mlp" in options.models:
        project = (options.projects / "mlp").resolve()
        say("mlp: starts, and a sweep against other ways to train its members")
        starts = startup.measure(project, startup.STEPS, startup.ROUNDS)
        sweeps = sweep.measure(project, sweep.MEMBERS, sweep.STEPS, rounds=1)
        numbers |= {"starts": starts, "sweeps": sweeps}
        (options.out / "report.json").write_text(json.dumps(numbers, indent=1) + "\n")
    text = speed_report.report(machine, found, starts, sweeps)
    (options.out / "report.md").write_text(text + "\n", encoding="utf-8")
    speed_report.picture(found, options.out / "speed.png")
    if options.write:
        pages = {"docs/speed.md": text, "README.md": speed_report.short(machine, found)}
        for name, part in pages.items():
            page = ROOT / name
            page.write_text(speed_report.inserted(page.read_text("utf-8"), part), "utf-8")
        speed_report.picture(found, ROOT / "docs" / "images" / "speed.png")
    print(text)
    say(f"\nwritten to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

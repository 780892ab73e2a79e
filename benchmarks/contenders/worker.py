"""A process that trains with one library, one turn at a time: `worker.py LIBRARY MODEL DTYPE FILE`.

Processes of their own keep the libraries' threads and memory apart. Each line that comes in is a
request in JSON, each line that goes out its answer.
"""

import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from contenders.problem import Problem, Run


def jax_forms(model: str, dtype: str, path: Path) -> dict[str, Callable[..., Any]]:
    """What to build, by name; the project also writes the problem for the others."""
    from contenders import cures, equinox_idiom, flax_linen, flax_nnx, matmul, plain_jax
    from contenders.project import Project

    project = Project(model, dtype)
    problem = project.problem(20)
    problem.save(path)
    return {
        "project": project.run,
        "jit": partial(plain_jax.jit_loop, problem),
        "equinox": partial(equinox_idiom.filter_jit_loop, problem),
        "linen": partial(flax_linen.linen_loop, problem),
        "nnx.jit": partial(flax_nnx.nnx_loop, problem, cached=False),
        "nnx.cached_partial": partial(flax_nnx.nnx_loop, problem, cached=True),
        "matmul": partial(matmul.jax_matmul, dtype),
        "matmul flops": lambda: {"flops": matmul.FLOPS},
        **cures.forms(project),
    }


def torch_forms(model: str, dtype: str, path: Path) -> dict[str, Callable[..., Any]]:
    from contenders import matmul, pytorch

    problem, before = Problem.load(path, model, dtype), peak_memory()
    loop = partial(pytorch.torch_loop, problem)
    return {
        "torch": partial(loop, tuned=False, compiled=False),
        "torch tuned": partial(loop, tuned=True, compiled=False),
        "torch compiled": partial(loop, tuned=True, compiled=True),
        "matmul": partial(matmul.torch_matmul, dtype),
        "growth": lambda: {"bytes": peak_memory() - before},
    }


def main() -> None:
    library, model, dtype, path = sys.argv[1:]
    # What a library prints goes to the error stream; only answers go out.
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    try:
        forms = {"jax": jax_forms, "torch": torch_forms}[library](model, dtype, Path(path))
    except ModuleNotFoundError as error:
        sys.exit(f"{library}: {error}")
    runs: dict[str, Run] = {}
    print(json.dumps({"ready": list(forms)}), file=out)
    for line in sys.stdin:
        request = json.loads(line)
        name = request["name"]
        if "steps" not in request:
            print(json.dumps(forms[name](*request["arguments"])), file=out)
            continue
        if name not in runs:
            runs[name] = forms[name]()
        losses: list[float] = []
        start, cpu_start = time.perf_counter(), time.process_time()
        for _ in range(request["calls"]):
            losses += runs[name](request["steps"])
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_start
        print(json.dumps({"seconds": seconds, "cpu": cpu, "losses": losses}), file=out)


def peak_memory() -> int:
    """Largest resident size of this process so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if platform.system() == "Darwin" else 1024 * peak


if __name__ == "__main__":
    main()

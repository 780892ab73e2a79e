"""How much of a run's time the host takes, with everything that `runtime/run.py` does."""

import contextlib
import io
import tempfile
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import jax

from .project import Project


def host_share(project: Project, steps: int, chunks: int) -> dict[str, float]:
    """The share of a run's wall time in which the host does not wait for the compiled chunk.

    The project's own `train` runs, with logging and progress, in chunks of `steps`; nothing is
    evaluated or saved between them. A chunk counts as device time from when its call returns until
    its results are there. Work that the host and the device do at once is counted for the host.
    The first chunk compiles, and is left out.
    """
    stamps: list[tuple[float, float, float]] = []
    cpu: list[float] = []
    usual = project.loops.train_chunk

    def timed(*args: Any) -> Any:
        cpu.append(time.thread_time())
        start = time.perf_counter()
        results = usual(*args)
        returned = time.perf_counter()
        jax.block_until_ready(results)
        stamps.append((start, returned, time.perf_counter()))
        return results

    total = steps * (chunks + 1)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        config = replace(
            project.config,
            run_dir=Path(folder, "run"),
            steps=total,
            log_every=steps,
            eval_every=total,
            save_every=total,
        )
        with (
            project.exchanged("runtime.feeding", "train_chunk", timed),
            project.exchanged("runtime.run", "draw_curves", lambda *args: None),
            project.exchanged("runtime.run", "draw_figures", lambda *args: None),
        ):
            project.module("runtime.run").train(config)

    # From the start of one chunk to that of the next is one turn of the loop.
    pairs = list(pairwise(stamps[1:]))
    walls = [after[0] - before[0] for before, after in pairs]
    hosts = [wall - (s[2] - s[1]) for wall, (s, _) in zip(walls, pairs, strict=True)]
    threads = [after - before for before, after in pairwise(cpu[1:])]
    return {
        "share": median(host / wall for host, wall in zip(hosts, walls, strict=True)),
        "host_ms": 1000 * median(hosts),
        # Of the thread that runs Python, which sleeps while it waits.
        "cpu_ms": 1000 * median(threads),
        "start_ms": 1000 * median(stamp[1] - stamp[0] for stamp in stamps[1:]),
    }

"""How much the scan-safe convolution of a `cnn` project gains over the usual form.

    nox -s demo -- ../try model=cnn
    ../try/.venv/bin/python benchmarks/convolutions.py ../try

trains the project's default model in its own compiled chunk, a `lax.scan` of a few steps, with
`conv2d` as the project has it (im2col) and with `lax.conv_general_dilated` on NHWC images. The two
take turns within one run, so that whatever else the machine does meets both.
"""

import argparse
import importlib
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

NAMES = ("im2col", "plain NHWC")


def plain_conv2d(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """What people write: stride 1, the size kept."""
    dimensions = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=dimensions)


def prepared(package: str, conv2d: Callable | None, steps: int) -> Callable[[], tuple[float, Any]]:
    """A function that trains `steps` steps and returns milliseconds a step, and the losses.

    The program is compiled here, with `conv2d` in the place of the project's own if given.
    """
    convolution, configs, keys, loops, sources, state_module = (
        importlib.import_module(f"{package}.{name}")
        for name in (
            "modeling.convolution",
            "configs",
            "core.keys",
            "training.loops",
            "data.sources",
            "training.state",
        )
    )
    config = configs.TrainConfig()
    data = sources.load_split(config.data, "train")
    positions = np.arange(steps * config.data.batch_size, dtype=np.int32)
    order = (positions % sources.num_examples(data)).reshape(steps, -1)
    state = state_module.init_state(config, keys.root_key(0))
    usual = convolution.conv2d
    convolution.conv2d = conv2d or usual
    try:
        # A function of its own: `train_chunk` would remember the program of the other form.
        chunk = jax.jit(lambda *args: loops.train_chunk(*args), donate_argnums=0)
        jax.clear_caches()
        program = chunk.lower(state, data, order, config).compile()
    finally:
        convolution.conv2d = usual
    current = [state]

    def run() -> tuple[float, Any]:
        start = time.perf_counter()
        current[0], metrics = program(current[0], data, order, config)
        losses = np.asarray(metrics["loss"])
        return 1000 * (time.perf_counter() - start) / steps, losses

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare convolutions inside a training chunk.")
    parser.add_argument("project", type=Path, help="a rendered project with model=cnn")
    parser.add_argument("--steps", type=int, default=10, help="steps in a chunk")
    parser.add_argument("--rounds", type=int, default=9, help="chunks of each form, at least 7")
    options = parser.parse_args()
    found = list(options.project.glob("src/*/modeling/convolution.py"))
    if len(found) != 1 or options.rounds < 7:
        parser.error("needs a project of the model cnn, and 7 rounds or more")

    forms = (None, plain_conv2d)
    runs = [prepared(found[0].parts[-3], form, options.steps) for form in forms]
    # The first round warms up, and shows that both forms compute the same.
    first = [run()[1] for run in runs]
    np.testing.assert_allclose(*first, rtol=1e-3)
    times = np.array([[run()[0] for run in runs] for _ in range(options.rounds)])

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    device = jax.devices()[0].device_kind
    print(f"jax {jax.__version__}, Python {platform.python_version()}, {device}, {cores} cores")
    for name, column in zip(NAMES, times.T, strict=True):
        print(
            f"{name:>10}: {statistics.median(column):8.1f} ms a step "
            f"(from {column.min():.1f} to {column.max():.1f}, {len(column)} chunks)"
        )
    ratios = times[:, 1] / times[:, 0]
    print(
        f"plain NHWC takes {statistics.median(ratios):.1f} times as long "
        f"(from {ratios.min():.1f} to {ratios.max():.1f}, round by round)"
    )


if __name__ == "__main__":
    main()

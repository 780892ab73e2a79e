"""Where the time of a training step goes: a trace to look at, and a few numbers."""

import re
import time

import jax
import jax.numpy as jnp

from ..configs import TrainConfig, for_device
from ..core.flops import count_flops
from ..training.loops import train_step
from ..training.state import TrainState
from .feeding import Feed

PROFILE = "profile"
"""Folder of traces in that of a run."""

_PEAKS: dict[str, dict[str, float]] = {
    "B200": {"bfloat16": 2250, "TF32": 1125},
    "H200 NVL": {"bfloat16": 835, "TF32": 417},
    "H200": {"bfloat16": 989, "TF32": 494},
    "H100 NVL": {"bfloat16": 835, "TF32": 417},
    "H100 PCIe": {"bfloat16": 756, "TF32": 378},
    "H100": {"bfloat16": 989, "TF32": 494},
    "A100": {"bfloat16": 312, "TF32": 156},
    "A10G": {"bfloat16": 70, "TF32": 35},
    "L40S": {"bfloat16": 362, "TF32": 183},
    "L4": {"bfloat16": 121, "TF32": 60},
    "V100-SXM2": {"float32": 15.7},
    "V100-PCIE": {"float32": 14},
    "T4": {"float32": 8.1},
    "RTX 5090": {"bfloat16": 209.5, "TF32": 104.8},
    "RTX 4090": {"bfloat16": 165.2, "TF32": 82.6},
    "RTX 3090": {"bfloat16": 71, "TF32": 35.6},
    "TPU v4": {"bfloat16": 275},
    "TPU v5 lite": {"bfloat16": 197},
    "TPU v5e": {"bfloat16": 197},
    "TPU v5p": {"bfloat16": 459},
    "TPU v5": {"bfloat16": 459},
    "TPU v6 lite": {"bfloat16": 918},
    "TPU v6e": {"bfloat16": 918},
}
"""Tera-operations a second of one device without sparsity, as its maker states them.

Sources: NVIDIA's data sheets of the data centre cards, where most figures of tensor cores are with
sparsity and are halved here; the white papers of the architectures of GeForce RTX cards, with sums
in float32; Google's "TPU architecture" pages, where v5e and v6e are the "lite" ones. V100 and T4
have no bfloat16 in their tensor cores, and JAX computes float32 without these.
"""

_OTHER_CARDS = re.compile(r"\b(Ti|D|Laptop|Max-Q|MIG|v4 lite)\b")
"""Words that make another card, or a part of one, of a name in the table."""


def peaks_of(device_kind: str) -> dict[str, float]:
    """Tera-operations a second of a device at most, by the type of numbers; empty if not known.

    Args:
        device_kind: what JAX calls it, such as `NVIDIA H100 80GB HBM3`.
    """
    if _OTHER_CARDS.search(device_kind):
        return {}
    found = (peaks for name, peaks in _PEAKS.items() if re.search(rf"\b{name}\b", device_kind))
    return next(found, {})


def profile_steps(state: TrainState, feed: Feed, config: TrainConfig) -> list[str]:
    """Train `config.profile` steps on a copy of the state, and write a trace of them.

    The trace is in `profile/` of the run folder, for Perfetto (`*.trace.json.gz`) and for XProf and
    TensorBoard (`*.xplane.pb`).

    Args:
        state: the state to begin with; it is left as it is.
        feed: gives the examples; it stays where it is.
        config: the run's config.

    Returns:
        Lines of a table for people.
    """
    traced, batch_size = for_device(config), config.data.batch_size
    call = feed.first(config.profile)
    folder = config.run_dir / PROFILE

    def run(state: TrainState) -> TrainState:
        state, _ = call.train(state, *call.examples, traced)
        return jax.block_until_ready(state)

    copy = run(jax.tree.map(jnp.copy, state))  # compiles
    began = time.perf_counter()
    copy = run(copy)
    seconds = (time.perf_counter() - began) / config.profile
    with jax.profiler.trace(folder):
        run(copy)

    flops = count_flops(train_step, state, call.batch, traced)
    rows = [("step", f"{1e3 * seconds:.3f} ms"), ("examples", f"{batch_size / seconds:,.0f} /s")]
    if call.batch.weight.size > batch_size:
        rows.append(("tokens", f"{call.batch.weight.size / seconds:,.0f} /s"))
    tera = 1e-12 * flops / seconds
    rows.append(("operations", f"{flops / 1e9:.4g} GFLOP a step, {tera:.4g} TFLOP/s"))
    device, count = jax.devices()[0].device_kind, len(state.step.sharding.device_set)
    shares = [
        f"{tera / count / peak:.1%} of {peak:g} TFLOP/s in {name}"
        for name, peak in peaks_of(device).items()
    ]
    if shares:
        rows.append(("utilisation", f"{', '.join(shares)} ({device})"))
    return [
        f"profile of {config.profile} steps, in {folder}:",
        *(f"  {name:<12} {value}" for name, value in rows),
    ]

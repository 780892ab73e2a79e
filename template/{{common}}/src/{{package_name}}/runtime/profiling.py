"""Where the time of a training step goes: a trace to look at, and a few numbers."""

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

_PEAKS = {
    "H100 PCIe": 756e12,
    "H100": 989e12,
    "H200": 989e12,
    "A100": 312e12,
    "TPU v4": 275e12,
    "TPU v5 lite": 197e12,
    "TPU v5p": 459e12,
    "TPU v6 lite": 918e12,
}
"""Operations a second of one device in bfloat16 without sparsity, as its maker states them."""


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
    device = jax.devices()[0].device_kind
    peak = next((peak for name, peak in _PEAKS.items() if name in device), None)
    if peak is not None:
        share = flops / seconds / peak / len(state.step.sharding.device_set)
        of_peak = f"{share:.1%} of {peak / 1e12:.0f} TFLOP/s in bfloat16 ({device})"
        rows.append(("utilisation", of_peak))
    return [
        f"profile of {config.profile} steps, in {folder}:",
        *(f"  {name:<12} {value}" for name, value in rows),
    ]

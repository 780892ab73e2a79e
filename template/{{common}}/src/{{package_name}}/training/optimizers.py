"""Optimizers and learning-rate schedules, built inside the traced step from the config.

Building one is a matter of microseconds and happens once, at trace time; in return every float of
the config is an argument of the compiled program.
"""

from typing import assert_never

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree, ScalarLike

from ..configs import SGD, AdamW, Lion, Optimizer, ScheduleConfig

_EPS_ROOT = 1e-24
"""Below the root in Adam. Where a gradient is zero, such as that of an embedding not looked up, the
root's derivative would be infinite, and a derivative of training by its config nan."""


def learning_rate_at(
    peak: ScalarLike, schedule: ScheduleConfig, step: Int[Array, ""]
) -> Float[Array, ""]:
    """Learning rate of the update that turns `step` into `step + 1`.

    A schedule is a shape of height one, drawn from static step counts, times the traced peak.
    """
    return jnp.asarray(peak * _unit_schedule(schedule)(step), jnp.float32)


def build_optimizer(config: Optimizer, learning_rate: ScalarLike) -> optax.GradientTransformation:
    """The optimizer of a config, with the learning rate of the present step.

    The optimizer holds no clock of its own: the step in the train state is the only one.
    """
    return optax.chain(
        _clip(config.gradient_clip),
        _direction(config),
        optax.add_decayed_weights(config.weight_decay, mask=decay_mask),
        optax.scale(jnp.negative(learning_rate)),
    )


def decay_mask(params: PyTree) -> PyTree:
    """True where weight decay applies: matrices, and not biases or the scales of norms."""
    return jax.tree.map(lambda leaf: leaf.ndim >= 2, params)


def update_ema(ema: PyTree, params: PyTree, decay: ScalarLike) -> PyTree:
    """The moving average after one more step: `decay * ema + (1 - decay) * params`."""
    return optax.incremental_update(params, ema, 1.0 - decay)


def _clip(max_norm: ScalarLike | None) -> optax.GradientTransformation:
    if max_norm is None:
        return optax.identity()
    # A number can be traced, so "off" is a value here and no branch in Python.
    return optax.clip_by_global_norm(jnp.where(jnp.greater(max_norm, 0.0), max_norm, jnp.inf))


def _direction(config: Optimizer) -> optax.GradientTransformation:
    match config:
        case AdamW():
            return optax.scale_by_adam(config.b1, config.b2, config.eps, eps_root=_EPS_ROOT)
        case SGD():
            return optax.trace(decay=config.momentum, nesterov=config.nesterov)
        case Lion():
            return optax.scale_by_lion(b1=config.b1, b2=config.b2)
        case _:
            assert_never(config)


def _unit_schedule(config: ScheduleConfig) -> optax.Schedule:
    steps = config.total_steps - config.warmup_steps
    end = config.final_fraction
    match config.shape:
        case "constant":
            body = optax.constant_schedule(1.0)
        case "linear":
            body = optax.linear_schedule(1.0, end, steps)
        case "cosine":
            body = optax.cosine_decay_schedule(1.0, steps, alpha=end)
        case "wsd":
            stable = steps - max(1, steps // 5)
            fall = optax.linear_schedule(1.0, end, steps - stable)
            body = optax.join_schedules([optax.constant_schedule(1.0), fall], [stable])
        case _:
            assert_never(config.shape)
    if config.warmup_steps == 0:
        return body
    warmup = optax.linear_schedule(0.0, 1.0, config.warmup_steps)
    return optax.join_schedules([warmup, body], [config.warmup_steps])

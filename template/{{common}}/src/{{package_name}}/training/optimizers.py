"""Optimizers and learning-rate schedules, built inside the traced step from the config.

Building one is a matter of microseconds and happens once, at trace time; in return every float of
the config is an argument of the compiled program.
"""

from typing import assert_never

import jax
import jax.numpy as jnp
import optax
from jax.tree_util import KeyPath
from jaxtyping import Array, Float, Int, PyTree, ScalarLike

from ..configs import SGD, AdamW, Lion, Optimizer, ScheduleConfig
from ..core.pytrees import dotted


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
    """True where weight decay applies: matrices, and not biases or the scales of norms.

    Names count as well as axes, because layers that are stacked have one axis more.
    """

    def decays(path: KeyPath, leaf: Array) -> bool:
        return leaf.ndim >= 2 and dotted(path[-1:]) not in ("bias", "scale")

    return jax.tree_util.tree_map_with_path(decays, params)


def update_ema(ema: PyTree, new: PyTree, decay: ScalarLike) -> PyTree:
    """The moving average after one more step: `decay * ema + (1 - decay) * new`.

    A leaf that is no floating-point number, such as a count, has no average: it is the new one.
    """

    def average(old: Array, new: Array) -> PyTree:
        if not jnp.issubdtype(new.dtype, jnp.inexact):
            return new
        return optax.incremental_update(new, old, 1.0 - decay)

    return jax.tree.map(average, ema, new)


def _clip(max_norm: ScalarLike | None) -> optax.GradientTransformation:
    if max_norm is None:
        return optax.identity()
    limit = jnp.asarray(max_norm, jnp.float32)

    def clip(updates: PyTree, params: PyTree | None = None) -> PyTree:
        del params
        norm = optax.tree.norm(updates)
        # A number can be traced, so "off" is a value here and no branch in Python. The inner
        # `where` keeps the derivative finite where nothing is clipped.
        is_clipped = (limit > 0.0) & (norm > limit)
        factor = jnp.where(is_clipped, limit / jnp.where(is_clipped, norm, 1.0), 1.0)
        return jax.tree.map(lambda update: update * factor.astype(update.dtype), updates)

    return optax.stateless(clip)


def _direction(config: Optimizer) -> optax.GradientTransformation:
    match config:
        case AdamW():
            # Under the root, or the derivative of a parameter that was never used is 0 * inf.
            return optax.scale_by_adam(b1=config.b1, b2=config.b2, eps=config.eps, eps_root=1e-24)
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

"""The training step, the compiled chunk of steps, and the evaluation."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from ..configs import TrainConfig
from ..core.keys import step_key
from ..core.sharding import divide_batch, divide_state, replicate
from ..data.sources import Batch, Data, take_batch
from ..modeling.model import TENSOR_AXES
from .losses import objective
from .metrics import Mean
from .optimizers import build_optimizer, learning_rate_at, update_ema
from .state import TrainState

Metrics = dict[str, Float[Array, "*steps"]]


def train_step(state: TrainState, batch: Batch, config: TrainConfig) -> tuple[TrainState, Metrics]:
    """One update of the parameters.

    Args:
        state: the state before the step.
        batch: examples of this step.
        config: the run's config; its floats may be traced.

    Returns:
        The state after the step, and scalar metrics of the step. `skipped` is 1 where loss or
        gradient is not finite: then only `step` moves.
    """
    batch = divide_batch(batch)
    key = step_key(state.key, "train", state.step)
    grads, means, model_state = _gradients(state, batch, config, key)
    norm = optax.tree.norm(grads)
    learning_rate = learning_rate_at(config.optimizer.learning_rate, config.schedule, state.step)
    optimizer = build_optimizer(config.optimizer, learning_rate)
    updates, opt_state = optimizer.update(grads, state.opt_state, state.params)
    params = optax.apply_updates(state.params, updates)
    ema_params, ema_model_state = state.ema_params, state.ema_model_state
    if config.ema_decay is not None:
        ema_params = update_ema(ema_params, params, config.ema_decay)
        ema_model_state = update_ema(ema_model_state, model_state, config.ema_decay)

    # One bad batch must not spoil everything: without a finite gradient, all but the step stays.
    is_finite = jnp.isfinite(means["loss"].value()) & jnp.isfinite(norm)
    params, model_state, opt_state, ema_params, ema_model_state = jax.tree.map(
        lambda new, old: jnp.where(is_finite, new, old),
        (params, model_state, opt_state, ema_params, ema_model_state),
        (
            *(state.params, state.model_state, state.opt_state),
            *(state.ema_params, state.ema_model_state),
        ),
    )
    new_state = TrainState(
        step=state.step + 1,
        key=state.key,
        params=params,
        model_state=model_state,
        opt_state=opt_state,
        ema_params=ema_params,
        ema_model_state=ema_model_state,
    )
    metrics = {name: mean.value() for name, mean in means.items()}
    metrics |= {"learning_rate": learning_rate, "gradient_norm": norm}
    metrics |= {"skipped": 1.0 - is_finite.astype(jnp.float32)}
    return divide_state(new_state, TENSOR_AXES), replicate(metrics)


def _gradients(
    state: TrainState, batch: Batch, config: TrainConfig, key: Key[Array, ""]
) -> tuple[PyTree, dict[str, Mean], PyTree]:
    """Gradient of the mean loss of a batch, the metrics, and the model's state afterwards.

    With `accumulate`, parts of the batch are computed one after another. Sums are added and divided
    by the weight of the whole batch, so that parts of unequal weight count as they should.
    """

    def total(params: PyTree, model_state: PyTree, part: Batch, key: Array) -> tuple[Array, Any]:
        loss, aux = objective(params, model_state, part, config, key)
        return loss.total, (loss.weight, *aux)

    gradients = jax.grad(total, has_aux=True)
    if config.accumulate == 1:
        grads, (weight, means, model_state) = gradients(state.params, state.model_state, batch, key)
        return jax.tree.map(lambda g: g / weight, grads), means, model_state

    def add_part(carry: tuple[PyTree, PyTree], part: tuple[Array, Batch]) -> tuple[Any, Any]:
        sums, model_state = carry
        index, examples = part
        part_key = jax.random.fold_in(key, index)
        grads, aux = gradients(state.params, model_state, examples, part_key)
        return (optax.tree.add(sums, grads), aux[2]), aux[:2]

    count = config.accumulate
    parts = jax.tree.map(lambda x: x.reshape(count, -1, *x.shape[1:]), batch)
    parts = divide_batch(parts, axis=1)
    start = (optax.tree.zeros_like(state.params), state.model_state)
    (sums, model_state), (weights, means) = jax.lax.scan(
        add_part, start, (jnp.arange(count), parts)
    )
    grads = jax.tree.map(lambda g: g / weights.sum(), sums)
    means = {name: Mean(m.total.sum(), m.weight.sum()) for name, m in means.items()}
    return grads, means, model_state


@partial(jax.jit, donate_argnames="state")
def train_chunk(
    state: TrainState,
    data: Data,
    indices: Int[Array, "steps batch"],
    config: TrainConfig,
) -> tuple[TrainState, Metrics]:
    """Several steps in one compiled program.

    The caller's `state` is donated: its buffers are reused and must not be read again.

    Args:
        state: the state before the first of the steps.
        data: the whole data set, on the device.
        indices: for each step, which examples make its batch.
        config: the run's config.

    Returns:
        The state after the last step, and the metrics of each step.
    """

    def body(state: TrainState, index: Int[Array, "batch"]) -> tuple[TrainState, Metrics]:
        return train_step(state, take_batch(data, index, config.data), config)

    return _scan(body, state, indices)


@partial(jax.jit, donate_argnames="state")
def train_batches(
    state: TrainState, batches: Batch, config: TrainConfig
) -> tuple[TrainState, Metrics]:
    """As `train_chunk`, with batches that were gathered before.

    Args:
        state: the state before the first of the steps; it is donated.
        batches: each array with the axes `steps` and `batch` in front.
        config: the run's config.
    """
    return _scan(lambda state, batch: train_step(state, batch, config), state, batches)


def chunk_length(step: int, last: int, config: TrainConfig) -> int:
    """Steps from `step` on, up to `last`, until something has to be done on the host."""
    periods = (config.log_every, config.eval_every, config.save_every)
    return min(last - step, *(period - step % period for period in periods))


def _scan(
    body: Callable[[TrainState, Any], tuple[TrainState, Metrics]], state: TrainState, steps: PyTree
) -> tuple[TrainState, Metrics]:
    scan = jax.lax.scan if len(jax.tree.leaves(steps)[0]) > 1 else _scan_one
    state, metrics = scan(body, state, steps)
    return divide_state(state, TENSOR_AXES), metrics


def _scan_one(
    body: Callable[[TrainState, Any], tuple[TrainState, Metrics]], state: TrainState, steps: PyTree
) -> tuple[TrainState, Metrics]:
    """A scan of a single step that rounds as a longer one does.

    XLA inlines a loop of one step, and an inlined step may round differently: the same steps in
    other chunks would give other bits. So this is the loop of two steps that a scan would be, with
    a bound of one that is known at run time only.
    """
    rows = jax.tree.map(lambda x: jnp.concatenate([x, x]), steps)
    shapes = jax.eval_shape(body, state, jax.tree.map(lambda x: x[0], rows))[1]
    stacked = jax.tree.map(lambda s: jnp.zeros((2, *s.shape), s.dtype), shapes)

    def step(i: Array, carry: tuple[TrainState, Metrics]) -> tuple[TrainState, Metrics]:
        state, metrics = body(carry[0], jax.tree.map(lambda x: x[i], rows))
        return state, jax.tree.map(lambda all, new: all.at[i].set(new), carry[1], metrics)

    bound = jnp.where(state.step < 0, 2, 1)
    state, metrics = jax.lax.fori_loop(0, bound, step, (state, stacked))
    return state, jax.tree.map(lambda values: values[:1], metrics)


@jax.jit
def evaluate(
    params: PyTree,
    model_state: PyTree,
    data: Data,
    indices: Int[Array, "batches batch"],
    valid: Bool[Array, "batches batch"],
    config: TrainConfig,
) -> dict[str, Float[Array, ""]]:
    """Means of the metrics over a data set, exact on a remainder that does not fill a batch.

    Args:
        params: parameters of the model.
        model_state: what the model carries beside its parameters.
        data: the whole data set, on the device.
        indices: examples of each batch, the last one padded.
        valid: False where an index is padding.
        config: the run's config.
    """

    def body(sums: None, batch: tuple[Array, Array]) -> tuple[None, dict[str, Mean]]:
        index, is_valid = batch
        examples = divide_batch(take_batch(data, index, config.data))
        counted = is_valid.reshape(-1, *[1] * (examples.weight.ndim - 1))
        examples = examples._replace(weight=jnp.where(counted, examples.weight, 0.0))
        _, (metrics, _) = objective(params, model_state, examples, config)
        return sums, metrics

    _, metrics = jax.lax.scan(body, None, (indices, valid))
    return replicate(
        {name: Mean(m.total.sum(), m.weight.sum()).value() for name, m in metrics.items()}
    )

"""Everything that training carries from step to step, as one pytree of arrays."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key, PyTree

from ..configs import TrainConfig
from ..core.keys import stream
from ..core.pytrees import dotted
from ..core.sharding import divide_state
from ..modeling.model import TENSOR_AXES, init_model
from .optimizers import build_optimizer


class TrainState(eqx.Module):
    """The state after `step` updates. Every leaf is a strongly typed array from the start."""

    step: Int[Array, ""]
    """Updates done so far."""
    key: Key[Array, ""]
    """Root key of the run; each use derives its own from it and the step, and never replaces it."""
    params: PyTree
    """Parameters of the model, in float32."""
    model_state: PyTree
    """What the model carries beside its parameters, such as running averages of a norm layer."""
    opt_state: PyTree
    """State of the optimizer."""
    ema_params: PyTree
    """Moving average of `params`, or None."""
    ema_model_state: PyTree
    """Moving average of `model_state`, over the same steps as `ema_params`, or None."""

    @property
    def eval_params(self) -> PyTree:
        """The parameters to evaluate and to sample with: the average, if there is one."""
        return self.params if self.ema_params is None else self.ema_params

    @property
    def eval_model_state(self) -> PyTree:
        """What goes with `eval_params`: statistics of the averaged model, not of the last one."""
        return self.model_state if self.ema_params is None else self.ema_model_state


@jax.jit
def init_state(config: TrainConfig, key: Key[Array, ""]) -> TrainState:
    """The state before the first step.

    Args:
        config: the run's config.
        key: root key of the run.
    """
    params, model_state = init_model(config.model, stream(key, "init"))
    _refuse_stored_floats(params, config)
    state = TrainState(
        step=jnp.zeros((), jnp.int32),
        key=key,
        params=params,
        model_state=model_state,
        opt_state=build_optimizer(config.optimizer, learning_rate=0.0).init(params),
        # Copies of their own: donation would otherwise be handed one buffer twice.
        ema_params=None if config.ema_decay is None else jax.tree.map(jnp.copy, params),
        ema_model_state=None if config.ema_decay is None else jax.tree.map(jnp.copy, model_state),
    )
    return divide_state(state, TENSOR_AXES)


def abstract_state(config: TrainConfig, key: Key[Array, ""]) -> TrainState:
    """Shapes and dtypes of the state, without computing it."""
    return jax.eval_shape(init_state, config, key)


def _refuse_stored_floats(params: PyTree, config: TrainConfig) -> None:
    """A float of the config that a module stores would be taken for a parameter, and trained."""
    traced = {id(leaf): path for path, leaf in jax.tree_util.tree_leaves_with_path(config)}
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        if id(leaf) in traced:
            raise TypeError(
                f"the model stores the config's {dotted(traced[id(leaf)])} as {dotted(path)}, "
                "where it would be trained; pass it to the call instead, as a dropout rate is"
            )

"""The loss of a language model and what is measured with it."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree, ScalarLike

from ..configs import TrainConfig
from ..core.transformations import logsumexp
from ..data.sources import Batch
from ..modeling.model import apply_blocks, to_logits
from .metrics import Mean, weighted_mean


def next_token_loss(
    logits: Float[Array, "*places vocab"],
    targets: Int[Array, "*places"],
    label_smoothing: ScalarLike = 0.0,
) -> Float[Array, "*places"]:
    """Cross-entropy in nats of each target, against a label that shares `label_smoothing` of its
    probability with all tokens alike (Szegedy et al., 2016, section 7)."""
    logits = logits.astype(jnp.float32)
    picked = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    smoothing = jnp.asarray(label_smoothing, jnp.float32)
    shared = logits.mean(axis=-1)
    return logsumexp(logits) - (1.0 - smoothing) * picked - smoothing * shared


def objective(
    params: PyTree,
    model_state: PyTree,
    batch: Batch,
    config: TrainConfig,
    key: Key[Array, ""] | None = None,
) -> tuple[Mean, tuple[dict[str, Mean], PyTree]]:
    """What training minimises, and what evaluation reports: means over targets, not over windows.

    Args:
        params: parameters of the model.
        model_state: what the model carries beside its parameters.
        batch: windows of text; targets of weight 0 count nowhere.
        config: the run's config.
        key: noise of this step; without a key the model is in inference mode.

    Returns:
        The loss to minimise, and `(metrics, model_state)`.
    """

    def measure(place: tuple[Array, Array]) -> dict[str, Array]:
        x, targets = place
        logits = to_logits(params, x, config.model)
        return {
            "loss": next_token_loss(logits, targets, config.loss.label_smoothing),
            "bits_per_byte": next_token_loss(logits, targets) / jnp.log(2.0),
            "accuracy": (logits.argmax(axis=-1) == targets).astype(jnp.float32),
        }

    x = apply_blocks(params, batch.tokens, config.model, key)
    if config.loss.chunk is None:
        values = measure((x, batch.targets))
    else:
        places = (x.swapaxes(0, 1), batch.targets.swapaxes(0, 1))
        values = jax.lax.map(jax.checkpoint(measure), places, batch_size=config.loss.chunk)
        values = {name: value.swapaxes(0, 1) for name, value in values.items()}
    metrics = {name: weighted_mean(value, batch.weight) for name, value in values.items()}
    return metrics["loss"], (metrics, model_state)

"""The loss of a classifier and what is measured with it."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree, ScalarLike

from ..configs import TrainConfig
from ..core.transformations import logsumexp
from ..data.augmentation import augment
from ..data.sources import Batch
from ..modeling.model import apply_model
from .metrics import Mean, weighted_mean


def cross_entropy(
    logits: Float[Array, "batch classes"],
    labels: Int[Array, "batch"],
    label_smoothing: ScalarLike = 0.0,
) -> Float[Array, "batch"]:
    """Cross-entropy in nats of each example against its smoothed label.

    The label keeps `1 - label_smoothing` of the probability and all classes share the rest
    (Szegedy et al., 2016, section 7).
    """
    picked = jnp.take_along_axis(logits, labels[:, None], axis=-1)[:, 0]
    shared = logits.mean(axis=-1)
    return logsumexp(logits) - (1.0 - label_smoothing) * picked - label_smoothing * shared


def objective(
    params: PyTree,
    model_state: PyTree,
    batch: Batch,
    config: TrainConfig,
    key: Key[Array, ""] | None = None,
) -> tuple[Mean, tuple[dict[str, Mean], PyTree]]:
    """What training minimises, and what evaluation reports.

    Args:
        params: parameters of the model.
        model_state: what the model carries beside its parameters.
        batch: examples; those of weight 0 count nowhere.
        config: the run's config.
        key: noise of this step. Without a key nothing is random: no augmentation, and the model
            in inference mode.

    Returns:
        The loss to minimise, and `(metrics, model_state)`.
    """
    augment_key, model_key = (None, None) if key is None else jax.random.split(key)
    images = augment(batch.images, config.data, augment_key)
    logits, model_state = apply_model(
        params, model_state, images, config.model, model_key, batch.weight
    )
    values = {
        "loss": cross_entropy(logits, batch.labels, config.loss.label_smoothing),
        "cross_entropy": cross_entropy(logits, batch.labels),
        "accuracy": (logits.argmax(axis=-1) == batch.labels).astype(jnp.float32),
    }
    metrics = {name: weighted_mean(value, batch.weight) for name, value in values.items()}
    return metrics["loss"], (metrics, model_state)

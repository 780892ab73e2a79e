"""The trained model as a function of arrays alone: what `scripts/export.py` writes."""

from collections.abc import Callable

import jax
from jaxtyping import Array, Float, Int, PyTree

from ..configs import TrainConfig
from .model import apply_model


def inference_inputs(config: TrainConfig) -> list[tuple[str, str]]:
    """Shape and dtype of each input; a name stands for any size."""
    del config
    return [("batch, time", "int32")]


def inference_function(
    params: PyTree, model_state: PyTree, config: TrainConfig
) -> Callable[[Int[Array, "batch time"]], Float[Array, "batch time vocab"]]:
    """From the bytes of some texts to the probability of each byte that may come next.

    Give texts no longer than the context of training. Shorter ones are padded on the right, where
    nothing that comes later counts.
    """

    def predict(tokens: Int[Array, "batch time"]) -> Float[Array, "batch time vocab"]:
        logits, _ = apply_model(params, model_state, tokens, config.model)
        return jax.nn.softmax(logits, axis=-1)

    return predict

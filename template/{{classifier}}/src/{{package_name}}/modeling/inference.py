"""The trained model as a function of arrays alone: what `scripts/export.py` writes."""

from collections.abc import Callable

import jax
from jaxtyping import Array, Float, PyTree

from ..configs import TrainConfig
from ..data.sources import IMAGE_SHAPE
from .model import apply_model


def inference_inputs(config: TrainConfig) -> list[tuple[str, str]]:
    """Shape and dtype of each input; a name stands for any size."""
    del config
    return [(f"batch, {', '.join(map(str, IMAGE_SHAPE))}", "float32")]


def inference_function(
    params: PyTree, model_state: PyTree, config: TrainConfig
) -> Callable[[Float[Array, "batch height width channels"]], Float[Array, "batch classes"]]:
    """From images to the probability of each class."""

    def predict(
        images: Float[Array, "batch height width channels"],
    ) -> Float[Array, "batch classes"]:
        logits, _ = apply_model(params, model_state, images, config.model)
        return jax.nn.softmax(logits, axis=-1)

    return predict

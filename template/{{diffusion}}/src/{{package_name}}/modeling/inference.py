"""The trained generator as a function of arrays alone: what `scripts/export.py` writes."""

from collections.abc import Callable

from jaxtyping import Array, Float, Int, PyTree

from ..configs import SampleConfig, TrainConfig
from ..data.sources import IMAGE_SHAPE
from .flow import Points
from .sampler import images_from_noise


def inference_inputs(config: TrainConfig) -> list[tuple[str, str]]:
    """Shape and dtype of each input; a name stands for any size."""
    del config
    return [(f"batch, {', '.join(map(str, IMAGE_SHAPE))}", "float32"), ("batch", "int32")]


def inference_function(
    params: PyTree, model_state: PyTree, config: TrainConfig
) -> Callable[[Points, Int[Array, "batch"]], Float[Array, "batch height width channels"]]:
    """From normal noise and the class of each image to images of brightness 0..1.

    Guidance and number of steps are those that `scripts/sample.py` has by default.
    """
    defaults = SampleConfig()

    def generate(
        noise: Points, labels: Int[Array, "batch"]
    ) -> Float[Array, "batch height width channels"]:
        return images_from_noise(
            params,
            model_state,
            noise,
            labels,
            config.model,
            guidance=defaults.guidance,
            num_steps=defaults.num_steps,
        )

    return generate

"""Pictures of what a generator makes: a grid of images, a column for each class."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PyTree
from matplotlib.figure import Figure

from ..configs import SampleConfig, TrainConfig
from ..core.keys import root_key, stream
from ..data.sources import NUM_CLASSES, Data
from ..modeling.sampler import sample_images
from .plots import save_figure
from .run_folder import FIGURES


def generate(
    params: PyTree, model_state: PyTree, run: TrainConfig, config: SampleConfig
) -> Float[np.ndarray, "count classes height width channels"]:
    """`config.count` images of each class, brightness 0..1.

    Args:
        params: parameters of the model.
        model_state: what the model carries beside its parameters.
        run: the config of the run that made them.
        config: seed, guidance, steps and count.
    """
    labels = jnp.tile(jnp.arange(NUM_CLASSES, dtype=jnp.int32), config.count)
    images = sample_images(
        params,
        model_state,
        labels,
        stream(root_key(config.seed), "sample"),
        run.model,
        guidance=config.guidance,
        num_steps=config.num_steps,
    )
    return np.asarray(images).reshape(config.count, NUM_CLASSES, *images.shape[1:])


def draw_figures(params: PyTree, model_state: PyTree, data: Data, config: TrainConfig) -> None:
    """Write `samples.png`, drawn as `scripts/sample.py` does by default, into a run's figures."""
    del data
    images = generate(params, model_state, config, SampleConfig())
    save_figure(sample_grid(images), config.run_dir / FIGURES / "samples.png")


def sample_grid(images: Float[np.ndarray, "count classes height width channels"]) -> Figure:
    """Images in rows, a column for each class, whose number stands above it."""
    rows, columns, height, width, _ = images.shape
    # One white pixel between neighbours: a picture of one piece is drawn at once.
    canvas = np.zeros((rows * (height + 1) - 1, columns * (width + 1) - 1))
    for row, column in np.ndindex(rows, columns):
        top, left = row * (height + 1), column * (width + 1)
        pixels = images[row, column].mean(axis=-1)
        canvas[top : top + height, left : left + width] = pixels
    figure = Figure(figsize=(0.7 * columns, 0.7 * rows + 0.3), layout="constrained")
    axes = figure.add_subplot()
    axes.imshow(canvas, cmap="gray_r", vmin=0.0, vmax=1.0)
    axes.set_xticks(np.arange(columns) * (width + 1) + (width - 1) / 2, map(str, range(columns)))
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    return figure

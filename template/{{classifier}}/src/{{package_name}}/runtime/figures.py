"""Pictures of a classifier's predictions: a grid of examples and the confusion matrix."""

import jax
import numpy as np
from jaxtyping import Float, Int, PyTree
from matplotlib.figure import Figure

from ..configs import TrainConfig
from ..core.transformations import pad_to_bucket
from ..data.sources import NUM_CLASSES, Batch, Data, num_examples
from ..modeling.model import apply_model
from .plots import save_figure
from .run_folder import FIGURES

_SHOWN = 36


def predict(
    params: PyTree, model_state: PyTree, data: Batch, config: TrainConfig
) -> Float[np.ndarray, "batch classes"]:
    """Probability of each class for each example, in one program for each size of bucket."""
    images = pad_to_bucket(data.images)
    logits, _ = jax.jit(apply_model)(params, model_state, images, config.model)
    return np.asarray(jax.nn.softmax(logits, axis=-1))[: num_examples(data)]


def draw_figures(params: PyTree, model_state: PyTree, data: Data, config: TrainConfig) -> None:
    """Write `confusion.png` and `predictions.png` into the figures of a run."""
    probabilities = predict(params, model_state, data, config)
    folder = config.run_dir / FIGURES
    confusion = confusion_matrix(np.asarray(data.labels), probabilities.argmax(axis=-1))
    save_figure(confusion_figure(confusion), folder / "confusion.png")
    shown = slice(0, _SHOWN)
    figure = prediction_grid(
        np.asarray(data.images[shown]), np.asarray(data.labels[shown]), probabilities[shown]
    )
    save_figure(figure, folder / "predictions.png")


def confusion_matrix(
    labels: Int[np.ndarray, "batch"], predicted: Int[np.ndarray, "batch"]
) -> Int[np.ndarray, "classes classes"]:
    """How many examples of each class (row) were taken for each class (column)."""
    counts = np.zeros((NUM_CLASSES, NUM_CLASSES), np.int64)
    np.add.at(counts, (labels, predicted), 1)
    return counts


def confusion_figure(counts: Int[np.ndarray, "classes classes"]) -> Figure:
    """The confusion matrix as a picture, each count written in its cell."""
    figure = Figure(figsize=(5.6, 5.2), layout="constrained")
    axes = figure.add_subplot()
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
    for (row, column), count in np.ndenumerate(counts):
        if count:
            color = "white" if shares[row, column] > 0.5 else "black"
            axes.text(column, row, str(count), ha="center", va="center", color=color)
    axes.set_xticks(range(len(counts)))
    axes.set_yticks(range(len(counts)))
    axes.set_xlabel("predicted")
    axes.set_ylabel("label")
    axes.set_title(f"accuracy {np.trace(counts) / counts.sum():.1%}")
    return figure


def prediction_grid(
    images: Float[np.ndarray, "count height width channels"],
    labels: Int[np.ndarray, "count"],
    probabilities: Float[np.ndarray, "count classes"],
) -> Figure:
    """Images with the predicted class and its probability; mistakes are red and name the label."""
    columns = min(len(images), 9)
    rows = -(-len(images) // columns)
    figure = Figure(figsize=(1.1 * columns, 1.35 * rows))
    # Fixed margins: working them out for so many axes would take a second.
    figure.subplots_adjust(0.01, 0.01, 0.99, 1 - 0.25 / rows, wspace=0.1, hspace=0.35)
    grid = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes in grid:
        axes.set_axis_off()
    for axes, image, label, p in zip(grid, images, labels, probabilities, strict=False):
        guess = int(p.argmax())
        axes.imshow(image.squeeze(), cmap="gray_r", vmin=0.0, vmax=1.0)
        text = f"{guess}  {p[guess]:.0%}" if guess == label else f"{guess}, not {label}"
        axes.set_title(text, fontsize=9, color="black" if guess == label else "crimson")
    return figure

"""A picture of what a language model makes of its context."""

from functools import partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree
from matplotlib.figure import Figure

from ..configs import DataConfig, ModelConfig, TrainConfig
from ..data.sources import Data, num_examples, take_batch
from ..modeling.model import apply_model
from ..training.losses import next_token_loss
from .plots import save_figure
from .run_folder import FIGURES


def draw_figures(params: PyTree, model_state: PyTree, data: Data, config: TrainConfig) -> None:
    """Write `context.png` into the figures of a run: the loss by the place in the window."""
    bits = bits_by_place(params, model_state, data, config)
    save_figure(context_figure(bits), config.run_dir / FIGURES / "context.png")


def bits_by_place(
    params: PyTree, model_state: PyTree, data: Data, config: TrainConfig, limit: int = 1024
) -> Float[np.ndarray, "time"]:
    """Mean bits per byte after so many bytes of context, over at most `limit` windows."""

    count = min(limit, num_examples(data))
    return np.asarray(_bits(params, model_state, data, config.model, config.data, count))


@partial(jax.jit, static_argnames="count")
def _bits(
    params: PyTree,
    model_state: PyTree,
    data: Data,
    model: ModelConfig,
    window: DataConfig,
    count: int,
) -> Float[Array, "time"]:
    batch = take_batch(data, jnp.arange(count), window)
    logits, _ = apply_model(params, model_state, batch.tokens, model)
    loss = next_token_loss(logits, batch.targets)
    return (loss * batch.weight).sum(axis=0) / batch.weight.sum(axis=0) / jnp.log(2.0)


def context_figure(bits: Float[np.ndarray, "time"]) -> Figure:
    """Bits per byte over the number of bytes that the model has seen.

    Places are averaged in groups that grow with their distance: one alone is mostly noise.
    """
    edges = np.unique(np.geomspace(1, len(bits) + 1, 15).astype(int))
    groups = [bits[first - 1 : last - 1] for first, last in pairwise(edges)]
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(edges[:-1], [group.mean() for group in groups], marker="o")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.set_xlabel("bytes of context")
    axes.set_ylabel("bits per byte, held out")
    axes.grid(alpha=0.3)
    return figure

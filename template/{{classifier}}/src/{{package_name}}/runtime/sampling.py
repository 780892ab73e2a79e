"""A picture of what a trained classifier says about examples it has never seen."""

from pathlib import Path

import numpy as np

from ..configs import SampleConfig
from ..data.pipeline import take
from ..data.sources import load_split, num_examples
from .checkpointing import restore_run
from .figures import predict, prediction_grid
from .plots import save_figure
from .run_folder import FIGURES


def sample_run(config: SampleConfig) -> Path:
    """Draw the predictions for held-out examples that the seed selects.

    Returns:
        The picture.

    Raises:
        UserError: there is no run or no such checkpoint.
    """
    run, state = restore_run(config.run_dir, config.step)
    data = load_split(run.data, "test")
    rng = np.random.default_rng(config.seed)
    shown = take(data, rng.permutation(num_examples(data))[: config.count])
    probabilities = predict(state.eval_params, state.eval_model_state, shown, run)
    figure = prediction_grid(np.asarray(shown.images), np.asarray(shown.labels), probabilities)
    return save_figure(figure, config.run_dir / FIGURES / f"sample-seed{config.seed}.png")

"""Images that a trained generator makes, as a picture."""

from pathlib import Path

from ..configs import SampleConfig
from .checkpointing import restore_run
from .figures import generate, sample_grid
from .plots import save_figure
from .run_folder import FIGURES


def sample_run(config: SampleConfig) -> Path:
    """Draw images of each class, made by the averaged parameters of a run.

    Returns:
        The picture.

    Raises:
        UserError: there is no run or no such checkpoint.
    """
    run, state = restore_run(config.run_dir, config.step)
    images = generate(state.eval_params, state.eval_model_state, run, config)
    path = config.run_dir / FIGURES / f"sample-seed{config.seed}.png"
    return save_figure(sample_grid(images), path)

"""Evaluation on held-out examples, in training and on its own."""

import jax
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import PyTree

from ..configs import EvalConfig, TrainConfig, for_device
from ..core.sharding import BATCH_AXES, batch_parts, place
from ..data.pipeline import padded_batches
from ..data.sources import Data, load_split, num_examples
from ..training.loops import evaluate
from .checkpointing import restore_run


def evaluate_params(
    params: PyTree,
    model_state: PyTree,
    data: Data,
    config: TrainConfig,
    mesh: Mesh | None = None,
) -> dict[str, float]:
    """Metrics over all examples of `data`, named `eval/...`.

    Args:
        params: parameters of the model.
        model_state: what the model carries beside them.
        data: the examples, on the devices of `mesh`.
        config: the run's config.
        mesh: the devices that share each batch; without it, the device that `data` is on.
    """
    size, batch_size = num_examples(data), config.data.eval_batch_size
    indices, valid = padded_batches(size, batch_size, batch_parts(mesh))
    if mesh is not None:
        indices, valid = place((indices, valid), mesh, PartitionSpec(None, BATCH_AXES))
    metrics = evaluate(params, model_state, data, indices, valid, config)
    return {f"eval/{name}": float(value) for name, value in jax.device_get(metrics).items()}


def evaluate_run(config: EvalConfig) -> dict[str, float]:
    """Metrics of a saved state of a run on the held-out examples.

    Raises:
        UserError: there is no run or no such checkpoint.
    """
    run, state = restore_run(config.run_dir, config.step)
    data = load_split(run.data, "test")
    metrics = evaluate_params(state.eval_params, state.eval_model_state, data, for_device(run))
    return {"step": int(state.step), "examples": num_examples(data), **metrics}

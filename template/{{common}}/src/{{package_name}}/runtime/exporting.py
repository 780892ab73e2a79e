"""A trained model as one file of StableHLO, which needs JAX to run but none of this project."""

import os
from pathlib import Path

import jax
from jax import export

from ..configs import ExportConfig
from ..modeling.inference import inference_function, inference_inputs
from .checkpointing import restore_run


def export_run(config: ExportConfig) -> Path:
    """Write the inference function of a run, its parameters inside, for a batch of any size.

    `export.deserialize(bytearray(path.read_bytes())).call(...)`, of `jax.export`, runs it.

    Returns:
        The file.

    Raises:
        UserError: there is no run or no such checkpoint.
    """
    run, state = restore_run(config.run_dir, config.step)
    scope = export.SymbolicScope()
    inputs = [
        jax.ShapeDtypeStruct(export.symbolic_shape(shape, scope=scope), dtype)
        for shape, dtype in inference_inputs(run)
    ]
    function = inference_function(state.eval_params, state.eval_model_state, run)
    exported = export.export(jax.jit(function), platforms=config.platforms)(*inputs)

    path = config.run_dir / "export" / f"step-{int(state.step)}.stablehlo"
    path.parent.mkdir(exist_ok=True)
    draft = path.with_name(path.name + ".tmp")
    draft.write_bytes(exported.serialize())
    os.replace(draft, path)
    return path

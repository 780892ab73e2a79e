"""Text from a trained model."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np

from ..configs import SampleConfig
from ..core.keys import root_key, stream
from ..modeling.generation import generate
from .checkpointing import restore_run

SAMPLES = "samples"


def sample_run(config: SampleConfig) -> Path:
    """Continue the prompts, print the texts and write them to a file.

    Returns:
        The file, `samples/seed<seed>.txt` in the run folder.

    Raises:
        UserError: there is no run or no such checkpoint.
    """
    run, state = restore_run(config.run_dir, config.step)
    prompts, lengths = pad_prompts(config.prompts)
    tokens = generate(
        state.eval_params,
        run.model,
        jnp.asarray(prompts),
        jnp.asarray(lengths),
        stream(root_key(config.seed), "sample"),
        num_tokens=config.num_tokens,
        window=run.data.context,
        temperature=config.temperature,
        top_k=config.top_k,
        top_p=config.top_p,
        stop_token=None if config.stop is None else ord(config.stop),
    )
    texts = []
    for prompt, row in zip(config.prompts, np.asarray(tokens), strict=True):
        text = bytes(row.astype(np.uint8)).decode(errors="replace")
        texts.append(prompt + (text if config.stop is None else text.split(config.stop)[0]))
    path = config.run_dir / SAMPLES / f"seed{config.seed}.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n\n---\n\n".join(texts) + "\n", encoding="utf-8")
    print(path.read_text(encoding="utf-8"))
    return path


def pad_prompts(texts: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Prompts as rows of bytes, padded on the right, and the length of each."""
    rows = [np.frombuffer(text.encode(), np.uint8) for text in texts]
    lengths = np.array([len(row) for row in rows], np.int32)
    padded = np.zeros((len(rows), lengths.max()), np.int32)
    for target, row in zip(padded, rows, strict=True):
        target[: len(row)] = row
    return padded, lengths

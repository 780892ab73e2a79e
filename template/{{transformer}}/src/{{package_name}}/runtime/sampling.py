"""Text from a trained model."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

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
    texts = [
        as_text(prompts[i, : lengths[i]], row, config.stop)
        for i, row in enumerate(np.asarray(tokens))
    ]
    path = config.run_dir / SAMPLES / f"seed{config.seed}.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n\n---\n\n".join(texts) + "\n", encoding="utf-8")
    print(path.read_text(encoding="utf-8"))
    return path


def as_text(
    prompt: Int[np.ndarray, "prompt"], written: Int[np.ndarray, "time"], stop: str | None
) -> str:
    """Prompt and continuation up to the stop, and a mark where bytes are no text.

    A character of several bytes may begin in the prompt and end behind it.
    """
    prompt_bytes, after = (bytes(row.astype(np.uint8)) for row in (prompt, written))
    if stop is not None:
        after = after.split(stop.encode())[0]
    return (prompt_bytes + after).decode(errors="replace")


def pad_prompts(
    texts: tuple[str, ...],
) -> tuple[Int[np.ndarray, "batch prompt"], Int[np.ndarray, "batch"]]:
    """Prompts as rows of bytes, padded on the right, and the length of each."""
    rows = [np.frombuffer(text.encode(), np.uint8) for text in texts]
    lengths = np.array([len(row) for row in rows], np.int32)
    padded = np.zeros((len(rows), lengths.max()), np.int32)
    for target, row in zip(padded, rows, strict=True):
        target[: len(row)] = row
    return padded, lengths

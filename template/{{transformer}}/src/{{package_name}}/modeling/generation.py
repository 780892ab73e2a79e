"""Writing text: one pass over the prompts, then token by token from the cache, in one program."""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree, ScalarLike

from ..configs import ModelConfig
from .attention import causal_mask
from .model import build_model, empty_caches, run_blocks
from .modules import assemble


@partial(jax.jit, static_argnames=("num_tokens", "window", "top_k", "stop_token"))
def generate(
    params: PyTree,
    config: ModelConfig,
    prompts: Int[Array, "batch prompt"],
    lengths: Int[Array, "batch"],
    key: Key[Array, ""],
    *,
    num_tokens: int,
    window: int,
    temperature: ScalarLike = 1.0,
    top_k: int | None = None,
    top_p: ScalarLike = 1.0,
    stop_token: int | None = None,
) -> Int[Array, "batch num_tokens"]:
    """Continue each prompt.

    A prompt is padded on the right. What padding leaves in the cache is never looked at: a slot is
    overwritten by the token of that position before any token may see it.

    Args:
        params: parameters of the model.
        config: the config that the model was built from.
        prompts: tokens of the prompts.
        lengths: number of tokens of each prompt, at least 1.
        key: noise.
        num_tokens: number of tokens to write.
        window: how far back a token may look: the context of training.
        temperature: divides the logits; 0 takes the likeliest token.
        top_k: draw from so many of the likeliest tokens; None is off.
        top_p: draw from the likeliest tokens that together have this probability; 1 is off.
        stop_token: after it, a text holds nothing but this token.

    Returns:
        The tokens that follow each prompt.
    """
    model = assemble(params, build_model, config)
    batch, prompt_size = prompts.shape
    slots = jnp.arange(prompt_size + num_tokens)

    # Every prompt at once; what counts is the last token of each.
    positions = jnp.broadcast_to(jnp.arange(prompt_size), prompts.shape)
    mask = causal_mask(positions, slots, window)
    caches = empty_caches(config, batch, len(slots))
    x, caches = run_blocks(model, prompts, positions, mask, config, caches=caches)
    last_logits = model.head(jnp.take_along_axis(x, (lengths - 1)[:, None, None], axis=1)[:, 0])

    def step(carry: PyTree, index: Int[Array, ""]) -> tuple[PyTree, Int[Array, "batch"]]:
        logits, caches, done = carry
        tokens = draw(logits, jax.random.fold_in(key, index), temperature, top_k, top_p)
        if stop_token is not None:
            tokens = jnp.where(done, stop_token, tokens)
            done = done | (tokens == stop_token)
        positions = (lengths + index)[:, None]
        mask = causal_mask(positions, slots, window)
        x, caches = run_blocks(model, tokens[:, None], positions, mask, config, caches=caches)
        return (model.head(x[:, 0]), caches, done), tokens

    start = (last_logits, caches, jnp.zeros(batch, bool))
    _, tokens = jax.lax.scan(step, start, jnp.arange(num_tokens))
    return tokens.T


def draw(
    logits: Float[Array, "batch vocab"],
    key: Key[Array, ""],
    temperature: ScalarLike = 1.0,
    top_k: int | None = None,
    top_p: ScalarLike = 1.0,
) -> Int[Array, "batch"]:
    """A token for each row of logits.

    `top_k` and `top_p` (nucleus sampling; Holtzman et al., 2020) keep the likeliest tokens of the
    distribution at this temperature; the likeliest one always stays.
    """
    temperature = jnp.asarray(temperature, jnp.float32)
    scaled = logits / jnp.where(temperature > 0, temperature, 1.0)
    ordered = jnp.sort(scaled, axis=-1, descending=True)
    probability = jax.nn.softmax(ordered, axis=-1)
    before = jnp.cumsum(probability, axis=-1) - probability
    keep = before < jnp.asarray(top_p, jnp.float32)
    keep = keep.at[:, 0].set(True)
    if top_k is not None:
        keep &= (jnp.arange(logits.shape[-1]) < top_k)[None]
    smallest = jnp.min(jnp.where(keep, ordered, jnp.inf), axis=-1, keepdims=True)
    drawn = jax.random.categorical(key, jnp.where(scaled >= smallest, scaled, -jnp.inf))
    return jnp.where(temperature > 0, drawn, logits.argmax(axis=-1)).astype(jnp.int32)

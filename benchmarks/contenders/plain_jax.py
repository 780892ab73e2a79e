"""JAX by hand: parameters in a dict, NHWC convolutions, matrices on the last axis."""

from collections.abc import Iterator
from itertools import cycle

import jax
import jax.numpy as jnp
import optax
from jax import Array

from .optax_recipe import attention, cross_entropy, optimizer
from .problem import SIZES, Problem, Run

Params = dict[str, Array]


def mlp(p: Params, x: Array) -> Array:
    x = x.reshape(len(x), -1)
    for i in range(len(SIZES["mlp"]["hidden_sizes"])):
        x = jax.nn.gelu(x @ p[f"layers.{i}.weight"] + p[f"layers.{i}.bias"])
    return x @ p[f"layers.{i + 1}.weight"] + p[f"layers.{i + 1}.bias"]


def batch_norm(p: Params, name: str, x: Array) -> Array:
    """In training; running statistics, which do not enter the loss, are left out."""
    wide = x.astype(jnp.float32)
    mean, variance = wide.mean((0, 1, 2)), wide.var((0, 1, 2))
    wide = (wide - mean) * jax.lax.rsqrt(variance + 1e-5)
    return (wide * p[f"{name}.scale"] + p[f"{name}.bias"]).astype(x.dtype)


def conv(p: Params, name: str, x: Array) -> Array:
    kernel = p[f"{name}.kernel"]
    numbers = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=numbers)


def cnn(p: Params, x: Array) -> Array:
    for i in range(len(SIZES["cnn"]["widths"])):
        if i > 0:
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        x = conv(p, f"stages.{i}.entry", x)
        for j in range(SIZES["cnn"]["blocks"]):
            block = f"stages.{i}.blocks.{j}"
            change = jax.nn.gelu(batch_norm(p, f"{block}.norm1", x))
            change = conv(p, f"{block}.conv1", change)
            change = jax.nn.gelu(batch_norm(p, f"{block}.norm2", change))
            x = x + conv(p, f"{block}.conv2", change)
    x = jax.nn.gelu(batch_norm(p, "norm", x)).mean((1, 2))
    return x @ p["head.weight"] + p["head.bias"]


def rms_norm(p: Params, name: str, x: Array) -> Array:
    wide = x.astype(jnp.float32)
    wide = wide * jax.lax.rsqrt(jnp.mean(wide**2, -1, keepdims=True) + 1e-6)
    return (wide * p[f"{name}.scale"]).astype(x.dtype)


def transformer(p: Params, tokens: Array) -> Array:
    sizes = SIZES["transformer"]
    x = p["embedding.weight"][tokens]
    for i in range(sizes["num_layers"]):
        block = f"blocks.{i}"
        normed = rms_norm(p, f"{block}.attention_norm", x)
        mixed = attention(
            normed @ p[f"{block}.attention.query_key_value.weight"], sizes["num_heads"]
        )
        x = x + mixed @ p[f"{block}.attention.out.weight"]
        normed = rms_norm(p, f"{block}.mlp_norm", x)
        gate, up = jnp.split(normed @ p[f"{block}.mlp.gate_up.weight"], 2, -1)
        x = x + (jax.nn.silu(gate) * up) @ p[f"{block}.mlp.down.weight"]
    return rms_norm(p, "norm", x) @ p["head.weight"]


MODELS = {"mlp": mlp, "cnn": cnn, "transformer": transformer}


def in_out(name: str, array: Array) -> Array:
    """A matrix as `x @ w` wants it."""
    return array.T if name.endswith("weight") and "embedding" not in name else array


def jit_loop(problem: Problem) -> Run:
    """A Python loop of one jitted, donated step."""
    apply, tx = MODELS[problem.model], optimizer(problem.model)
    params = {name: in_out(name, jnp.array(x)) for name, x in problem.initial.items()}
    current = [params, tx.init(params)]

    def loss_of(params: Params, inputs: Array, targets: Array) -> Array:
        cast = jax.tree.map(lambda x: x.astype(problem.dtype), params)
        if jnp.issubdtype(inputs.dtype, jnp.inexact):
            inputs = inputs.astype(problem.dtype)
        return cross_entropy(apply(cast, inputs), targets)

    def step(params: Params, opt_state: optax.OptState, inputs: Array, targets: Array):
        loss, grads = jax.value_and_grad(loss_of)(params, inputs, targets)
        updates, opt_state = tx.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    jitted = jax.jit(step, donate_argnums=(0, 1))
    batches = device_batches(problem)

    def run(steps: int) -> list[float]:
        losses = []
        for _ in range(steps):
            *current[:], loss = jitted(*current, *next(batches))
            losses.append(loss)
        return finish(losses, current)

    return run


def device_batches(problem: Problem) -> Iterator[tuple[Array, Array]]:
    """All batches are on the device before the clock starts, a favour to those who loop."""
    return cycle([(jnp.asarray(x), jnp.asarray(y)) for x, y in problem.batches])


def finish(losses: list[Array], results: object) -> list[float]:
    """The losses, once all that the steps compute is there."""
    jax.block_until_ready(results)
    return [float(loss) for loss in jax.device_get(losses)]

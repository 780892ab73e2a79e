"""Equinox as its documentation has it: one example at a time under vmap, channels first."""

from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from .optax_recipe import attention, cross_entropy, optimizer
from .plain_jax import device_batches, finish
from .problem import SIZES, Problem, Run

KEY = jax.random.key(0)


class MLP(eqx.Module):
    layers: list[eqx.nn.Linear]

    def __init__(self) -> None:
        sizes = (784, *SIZES["mlp"]["hidden_sizes"], 10)
        self.layers = [eqx.nn.Linear(a, b, key=KEY) for a, b in pairwise(sizes)]

    def __call__(self, x: Array) -> Array:
        x = x.reshape(-1)
        for layer in self.layers[:-1]:
            x = jax.nn.gelu(layer(x))
        return self.layers[-1](x)


def conv3(fan_in: int, fan_out: int) -> eqx.nn.Conv2d:
    return eqx.nn.Conv2d(fan_in, fan_out, 3, padding=1, use_bias=False, key=KEY)


def norm2(channels: int) -> eqx.nn.BatchNorm:
    return eqx.nn.BatchNorm(channels, axis_name="batch", mode="batch", eps=1e-5, momentum=0.9)


class Block(eqx.Module):
    norm1: eqx.nn.BatchNorm
    conv1: eqx.nn.Conv2d
    norm2: eqx.nn.BatchNorm
    conv2: eqx.nn.Conv2d

    def __init__(self, width: int) -> None:
        self.norm1, self.norm2 = norm2(width), norm2(width)
        self.conv1, self.conv2 = conv3(width, width), conv3(width, width)

    def __call__(self, x: Array, state: eqx.nn.State) -> tuple[Array, eqx.nn.State]:
        change, state = self.norm1(x, state)
        change, state = self.norm2(self.conv1(jax.nn.gelu(change)), state)
        return x + self.conv2(jax.nn.gelu(change)), state


class Stage(eqx.Module):
    entry: eqx.nn.Conv2d
    blocks: list[Block]

    def __init__(self, fan_in: int, width: int) -> None:
        self.entry = conv3(fan_in, width)
        self.blocks = [Block(width) for _ in range(SIZES["cnn"]["blocks"])]


class CNN(eqx.Module):
    stages: list[Stage]
    pool: eqx.nn.MaxPool2d
    norm: eqx.nn.BatchNorm
    head: eqx.nn.Linear

    def __init__(self) -> None:
        widths = SIZES["cnn"]["widths"]
        fan_ins = (1, *widths[:-1])
        self.stages = [Stage(a, b) for a, b in zip(fan_ins, widths, strict=True)]
        self.pool = eqx.nn.MaxPool2d(2, 2)
        self.norm = norm2(widths[-1])
        self.head = eqx.nn.Linear(widths[-1], 10, key=KEY)

    def __call__(self, x: Array, state: eqx.nn.State) -> tuple[Array, eqx.nn.State]:
        for i, stage in enumerate(self.stages):
            x = stage.entry(self.pool(x) if i > 0 else x)
            for block in stage.blocks:
                x, state = block(x, state)
        x, state = self.norm(x, state)
        return self.head(jax.nn.gelu(x).mean((1, 2))), state


class TransformerBlock(eqx.Module):
    attention_norm: eqx.nn.RMSNorm
    query_key_value: eqx.nn.Linear
    out: eqx.nn.Linear
    mlp_norm: eqx.nn.RMSNorm
    gate_up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, width: int, hidden: int) -> None:
        def linear(fan_in: int, fan_out: int) -> eqx.nn.Linear:
            return eqx.nn.Linear(fan_in, fan_out, use_bias=False, key=KEY)

        self.attention_norm = eqx.nn.RMSNorm(width, eps=1e-6, use_bias=False)
        self.mlp_norm = eqx.nn.RMSNorm(width, eps=1e-6, use_bias=False)
        self.query_key_value, self.out = linear(width, 3 * width), linear(width, width)
        self.gate_up, self.down = linear(width, 2 * hidden), linear(hidden, width)

    def __call__(self, x: Array) -> Array:
        heads = SIZES["transformer"]["num_heads"]
        projected = jax.vmap(self.query_key_value)(jax.vmap(self.attention_norm)(x))
        x = x + jax.vmap(self.out)(attention(projected, heads))
        gate, up = jnp.split(jax.vmap(self.gate_up)(jax.vmap(self.mlp_norm)(x)), 2, -1)
        return x + jax.vmap(self.down)(jax.nn.silu(gate) * up)


class Transformer(eqx.Module):
    embedding: eqx.nn.Embedding
    blocks: list[TransformerBlock]
    norm: eqx.nn.RMSNorm
    head: eqx.nn.Linear

    def __init__(self) -> None:
        sizes = SIZES["transformer"]
        width = sizes["width"]
        self.embedding = eqx.nn.Embedding(256, width, key=KEY)
        self.blocks = [
            TransformerBlock(width, sizes["mlp_width"]) for _ in range(sizes["num_layers"])
        ]
        self.norm = eqx.nn.RMSNorm(width, eps=1e-6, use_bias=False)
        self.head = eqx.nn.Linear(width, 256, use_bias=False, key=KEY)

    def __call__(self, tokens: Array) -> Array:
        x = jax.vmap(self.embedding)(tokens)
        for block in self.blocks:
            x = block(x)
        return jax.vmap(self.head)(jax.vmap(self.norm)(x))


MODELS = {"mlp": MLP, "cnn": CNN, "transformer": Transformer}


def with_initial(model: eqx.Module, problem: Problem) -> eqx.Module:
    """The model with the initial parameters of the problem, found by the end of their names."""
    usual = {"kernel": lambda x: x.transpose(3, 2, 0, 1)}

    def replaced(path: tuple, leaf: object) -> object:
        if not eqx.is_inexact_array(leaf):
            return leaf
        name = jax.tree_util.keystr(path, simple=True, separator=".")
        for part in ("query_key_value", "out"):
            name = name.replace(f".{part}.", f".attention.{part}.")
        for part in ("gate_up", "down"):
            name = name.replace(f".{part}.", f".mlp.{part}.")
        for other in (name, name.replace("weight", "scale"), name.replace("weight", "kernel")):
            if other in problem.initial:
                found = problem.initial[other]
                return jnp.array(usual.get(other.rpartition(".")[2], lambda x: x)(found))
        raise KeyError(name)

    return jax.tree_util.tree_map_with_path(replaced, model)


def filter_jit_loop(problem: Problem) -> Run:
    """The loop of the documentation: `eqx.filter_jit` on each step."""
    tx, is_cnn = optimizer(problem.model), problem.model == "cnn"
    if is_cnn:
        model, state = eqx.nn.make_with_state(CNN)()
    else:
        model, state = MODELS[problem.model](), None
    model = with_initial(model, problem)
    current = [model, state, tx.init(eqx.filter(model, eqx.is_inexact_array))]

    def loss_of(model, state, inputs, targets):
        floats, rest = eqx.partition(model, eqx.is_inexact_array)
        model = eqx.combine(jax.tree.map(lambda x: x.astype(problem.dtype), floats), rest)
        if jnp.issubdtype(inputs.dtype, jnp.inexact):
            inputs = inputs.astype(problem.dtype)
        if is_cnn:
            batched = jax.vmap(model, axis_name="batch", in_axes=(0, None), out_axes=(0, None))
            logits, state = batched(inputs, state)
        else:
            logits = jax.vmap(model)(inputs)
        return cross_entropy(logits, targets), state

    @eqx.filter_jit
    def make_step(model, state, opt_state, inputs, targets):
        grad = eqx.filter_value_and_grad(loss_of, has_aux=True)
        (loss, state), grads = grad(model, state, inputs, targets)
        params = eqx.filter(model, eqx.is_inexact_array)
        updates, opt_state = tx.update(grads, opt_state, params)
        return eqx.apply_updates(model, updates), state, opt_state, loss

    if is_cnn:  # channels first
        batches = [(x.transpose(0, 3, 1, 2), y) for x, y in problem.batches]
        problem = Problem(problem.model, problem.dtype, problem.initial, batches)
    batches = device_batches(problem)

    def run(steps: int) -> list[float]:
        losses = []
        for _ in range(steps):
            *current[:], loss = make_step(*current, *next(batches))
            losses.append(loss)
        return finish(losses, eqx.filter(current, eqx.is_array))

    return run

"""Flax NNX with its own optimizer, under `nnx.jit` and with `nnx.cached_partial`."""

from itertools import pairwise

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from .optax_recipe import attention, cross_entropy, optimizer
from .plain_jax import device_batches, finish
from .problem import SIZES, Problem, Run


class MLP(nnx.Module):
    def __init__(self, dtype: str, rngs: nnx.Rngs) -> None:
        sizes = (784, *SIZES["mlp"]["hidden_sizes"], 10)
        self.layers = nnx.List(nnx.Linear(a, b, dtype=dtype, rngs=rngs) for a, b in pairwise(sizes))

    def __call__(self, x: Array) -> Array:
        x = x.reshape(len(x), -1)
        for layer in self.layers[:-1]:
            x = nnx.gelu(layer(x))
        return self.layers[-1](x)


class Block(nnx.Module):
    def __init__(self, width: int, dtype: str, rngs: nnx.Rngs) -> None:
        def norm() -> nnx.BatchNorm:
            return nnx.BatchNorm(width, momentum=0.9, epsilon=1e-5, dtype=dtype, rngs=rngs)

        def conv() -> nnx.Conv:
            return nnx.Conv(width, width, (3, 3), use_bias=False, dtype=dtype, rngs=rngs)

        self.norm1, self.conv1, self.norm2, self.conv2 = norm(), conv(), norm(), conv()

    def __call__(self, x: Array) -> Array:
        change = self.conv1(nnx.gelu(self.norm1(x)))
        return x + self.conv2(nnx.gelu(self.norm2(change)))


class Stage(nnx.Module):
    def __init__(self, fan_in: int, width: int, dtype: str, rngs: nnx.Rngs) -> None:
        self.entry = nnx.Conv(fan_in, width, (3, 3), use_bias=False, dtype=dtype, rngs=rngs)
        self.blocks = nnx.List(Block(width, dtype, rngs) for _ in range(SIZES["cnn"]["blocks"]))

    def __call__(self, x: Array) -> Array:
        x = self.entry(x)
        for block in self.blocks:
            x = block(x)
        return x


class CNN(nnx.Module):
    def __init__(self, dtype: str, rngs: nnx.Rngs) -> None:
        widths = SIZES["cnn"]["widths"]
        fan_ins = (1, *widths[:-1])
        self.stages = nnx.List(
            Stage(a, b, dtype, rngs) for a, b in zip(fan_ins, widths, strict=True)
        )
        self.norm = nnx.BatchNorm(widths[-1], momentum=0.9, epsilon=1e-5, dtype=dtype, rngs=rngs)
        self.head = nnx.Linear(widths[-1], 10, dtype=dtype, rngs=rngs)

    def __call__(self, x: Array) -> Array:
        for i, stage in enumerate(self.stages):
            x = stage(nnx.max_pool(x, (2, 2), (2, 2)) if i > 0 else x)
        return self.head(nnx.gelu(self.norm(x)).mean((1, 2)))


class Attention(nnx.Module):
    def __init__(self, width: int, dtype: str, rngs: nnx.Rngs) -> None:
        self.query_key_value = nnx.Linear(width, 3 * width, use_bias=False, dtype=dtype, rngs=rngs)
        self.out = nnx.Linear(width, width, use_bias=False, dtype=dtype, rngs=rngs)

    def __call__(self, x: Array) -> Array:
        return self.out(attention(self.query_key_value(x), SIZES["transformer"]["num_heads"]))


class GatedMLP(nnx.Module):
    def __init__(self, width: int, hidden: int, dtype: str, rngs: nnx.Rngs) -> None:
        self.gate_up = nnx.Linear(width, 2 * hidden, use_bias=False, dtype=dtype, rngs=rngs)
        self.down = nnx.Linear(hidden, width, use_bias=False, dtype=dtype, rngs=rngs)

    def __call__(self, x: Array) -> Array:
        gate, up = jnp.split(self.gate_up(x), 2, -1)
        return self.down(nnx.silu(gate) * up)


class TransformerBlock(nnx.Module):
    def __init__(self, width: int, hidden: int, dtype: str, rngs: nnx.Rngs) -> None:
        self.attention_norm = nnx.RMSNorm(width, epsilon=1e-6, dtype=dtype, rngs=rngs)
        self.attention = Attention(width, dtype, rngs)
        self.mlp_norm = nnx.RMSNorm(width, epsilon=1e-6, dtype=dtype, rngs=rngs)
        self.mlp = GatedMLP(width, hidden, dtype, rngs)

    def __call__(self, x: Array) -> Array:
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class Transformer(nnx.Module):
    def __init__(self, dtype: str, rngs: nnx.Rngs) -> None:
        sizes = SIZES["transformer"]
        width = sizes["width"]
        self.embedding = nnx.Embed(256, width, dtype=dtype, rngs=rngs)
        self.blocks = nnx.List(
            TransformerBlock(width, sizes["mlp_width"], dtype, rngs)
            for _ in range(sizes["num_layers"])
        )
        self.norm = nnx.RMSNorm(width, epsilon=1e-6, dtype=dtype, rngs=rngs)
        self.head = nnx.Linear(width, 256, use_bias=False, dtype=dtype, rngs=rngs)

    def __call__(self, tokens: Array) -> Array:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


MODELS = {"mlp": MLP, "cnn": CNN, "transformer": Transformer}


def set_initial(model: nnx.Module, problem: Problem) -> None:
    """Names are those of the project; matrices are kernels (in, out)."""
    state = nnx.state(model, nnx.Param)
    flat = dict(nnx.to_flat_state(state))
    left = set(flat)
    for name, array in problem.initial.items():
        *module, kind = name.split(".")
        if kind == "weight":
            embeds = module == ["embedding"]
            kind, array = ("embedding", array) if embeds else ("kernel", array.T)
        path = tuple(int(part) if part.isdigit() else part for part in (*module, kind))
        assert flat[path].shape == array.shape
        flat[path] = flat[path].replace(jnp.array(array))
        left.discard(path)
    assert not left
    nnx.update(model, nnx.from_flat_state(flat))


def train_step(model: nnx.Module, opt: nnx.Optimizer, inputs: Array, targets: Array) -> Array:
    """One update, in place."""

    def loss_of(model: nnx.Module) -> Array:
        return cross_entropy(model(inputs), targets)

    loss, grads = nnx.value_and_grad(loss_of)(model)
    opt.update(model, grads)
    return loss


def nnx_loop(problem: Problem, cached: bool) -> Run:
    """A Python loop of `nnx.jit`, which walks the modules at each call unless `cached`."""
    model = MODELS[problem.model](problem.dtype, rngs=nnx.Rngs(0))
    set_initial(model, problem)
    opt = nnx.Optimizer(model, optimizer(problem.model), wrt=nnx.Param)
    jitted = nnx.jit(train_step)
    if cached:
        step = nnx.cached_partial(jitted, model, opt)
    else:

        def step(inputs: Array, targets: Array) -> Array:
            return jitted(model, opt, inputs, targets)

    batches = device_batches(problem)

    def run(steps: int) -> list[float]:
        losses = [step(*next(batches)) for _ in range(steps)]
        return finish(losses, jax.tree.leaves(nnx.state((model, opt))))

    return run

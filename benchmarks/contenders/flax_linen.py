"""Flax Linen with a `TrainState`, as its documentation has it."""

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax.training.train_state import TrainState
from flax.traverse_util import unflatten_dict
from jax import Array

from .optax_recipe import attention, cross_entropy, optimizer
from .plain_jax import device_batches, finish
from .problem import SIZES, Problem, Run


class MLP(nn.Module):
    dtype: str

    @nn.compact
    def __call__(self, x: Array) -> Array:
        x = x.reshape(len(x), -1)
        widths = SIZES["mlp"]["hidden_sizes"]
        for i, width in enumerate(widths):
            x = nn.gelu(nn.Dense(width, dtype=self.dtype, name=f"layers_{i}")(x))
        return nn.Dense(10, dtype=self.dtype, name=f"layers_{len(widths)}")(x)


class CNN(nn.Module):
    dtype: str

    @nn.compact
    def __call__(self, x: Array) -> Array:
        def norm(name: str) -> nn.BatchNorm:
            return nn.BatchNorm(False, momentum=0.9, epsilon=1e-5, dtype=self.dtype, name=name)

        def conv(width: int, name: str) -> nn.Conv:
            return nn.Conv(width, (3, 3), use_bias=False, dtype=self.dtype, name=name)

        for i, width in enumerate(SIZES["cnn"]["widths"]):
            x = nn.max_pool(x, (2, 2), (2, 2)) if i > 0 else x
            x = conv(width, f"stages_{i}_entry")(x)
            for j in range(SIZES["cnn"]["blocks"]):
                block = f"stages_{i}_blocks_{j}"
                change = conv(width, f"{block}_conv1")(nn.gelu(norm(f"{block}_norm1")(x)))
                x = x + conv(width, f"{block}_conv2")(nn.gelu(norm(f"{block}_norm2")(change)))
        x = nn.gelu(norm("norm")(x)).mean((1, 2))
        return nn.Dense(10, dtype=self.dtype, name="head")(x)


class Transformer(nn.Module):
    dtype: str

    @nn.compact
    def __call__(self, tokens: Array) -> Array:
        sizes = SIZES["transformer"]
        width = sizes["width"]

        def dense(features: int, name: str) -> nn.Dense:
            return nn.Dense(features, use_bias=False, dtype=self.dtype, name=name)

        def norm(name: str) -> nn.RMSNorm:
            return nn.RMSNorm(epsilon=1e-6, dtype=self.dtype, name=name)

        x = nn.Embed(256, width, dtype=self.dtype, name="embedding")(tokens)
        for i in range(sizes["num_layers"]):
            block = f"blocks_{i}"
            normed = norm(f"{block}_attention_norm")(x)
            projected = dense(3 * width, f"{block}_attention_query_key_value")(normed)
            mixed = attention(projected, sizes["num_heads"])
            x = x + dense(width, f"{block}_attention_out")(mixed)
            normed = norm(f"{block}_mlp_norm")(x)
            gate, up = jnp.split(
                dense(2 * sizes["mlp_width"], f"{block}_mlp_gate_up")(normed), 2, -1
            )
            x = x + dense(width, f"{block}_mlp_down")(nn.silu(gate) * up)
        return dense(256, "head")(norm("norm")(x))


MODELS = {"mlp": MLP, "cnn": CNN, "transformer": Transformer}


def initial_params(problem: Problem) -> dict:
    """Nested as Flax wants it: matrices are kernels (in, out)."""
    flat = {}
    for name, array in problem.initial.items():
        module, _, kind = name.rpartition(".")
        if kind == "weight":
            embeds = module == "embedding"
            kind, array = ("embedding", array) if embeds else ("kernel", array.T)
        flat[(module.replace(".", "_"), kind)] = jnp.array(array)
    return unflatten_dict(flat)


def linen_loop(problem: Problem) -> Run:
    """A Python loop of a jitted step on a `TrainState`."""
    model, has_stats = MODELS[problem.model](problem.dtype), problem.model == "cnn"
    inputs = jnp.asarray(problem.batches[0][0])
    variables = jax.jit(model.init)(jax.random.key(0), inputs)
    params = initial_params(problem)
    assert jax.tree.map(jnp.shape, params) == jax.tree.map(jnp.shape, variables["params"])
    state = TrainState.create(apply_fn=model.apply, params=params, tx=optimizer(problem.model))
    current = [state, variables.get("batch_stats", {})]

    @jax.jit
    def train_step(state, stats, inputs, targets):
        def loss_of(params):
            if not has_stats:
                return cross_entropy(state.apply_fn({"params": params}, inputs), targets), stats
            logits, new = state.apply_fn(
                {"params": params, "batch_stats": stats}, inputs, mutable=["batch_stats"]
            )
            return cross_entropy(logits, targets), new["batch_stats"]

        (loss, new_stats), grads = jax.value_and_grad(loss_of, has_aux=True)(state.params)
        return state.apply_gradients(grads=grads), new_stats, loss

    batches = device_batches(problem)

    def run(steps: int) -> list[float]:
        losses = []
        for _ in range(steps):
            *current[:], loss = train_step(*current, *next(batches))
            losses.append(loss)
        return finish(losses, (current[0].params, current[0].opt_state, current[1]))

    return run

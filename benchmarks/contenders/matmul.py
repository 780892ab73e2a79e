"""The machine's best: one large product of two matrices, by each library."""

from .problem import Run

SIZE = 2048
FLOPS = 2.0 * SIZE**3


def jax_matmul(dtype: str) -> Run:
    import jax
    import jax.numpy as jnp

    a = jnp.ones((SIZE, SIZE), dtype)
    product = jax.jit(jnp.matmul)

    def run(steps: int) -> list[float]:
        for _ in range(steps):
            result = product(a, a)
        result.block_until_ready()
        return []

    return run


def torch_matmul(dtype: str) -> Run:
    import torch

    a = torch.ones((SIZE, SIZE), dtype=getattr(torch, dtype))

    def run(steps: int) -> list[float]:
        for _ in range(steps):
            a @ a
        return []

    return run

"""Layers that act on each token alone. Parameters are float32; the input's dtype is computed in."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key


class Linear(eqx.Module):
    """A matrix applied to the last axis, without a bias."""

    weight: Float[Array, "out in"]

    def __init__(self, in_size: int, out_size: int, scale: float, key: Key[Array, ""]):
        """Draw the weights; inputs of size one give outputs of about size `scale`."""
        self.weight = scale / in_size**0.5 * jax.random.normal(key, (out_size, in_size))

    def __call__(self, x: Float[Array, "*batch in"]) -> Float[Array, "*batch out"]:
        """Apply the matrix.

        All axes but the last are made one first: the gradient of the weight is then a product of
        two matrices, and no product for each window or token, which takes the CPU longer.
        """
        flat = x.reshape(-1, x.shape[-1]) @ self.weight.T.astype(x.dtype)
        return flat.reshape(*x.shape[:-1], -1)


class RMSNorm(eqx.Module):
    """Scaling to a root mean square of one (Zhang and Sennrich, 2019), computed in float32."""

    scale: Float[Array, "size"]

    def __init__(self, size: int):
        """Start as plain normalisation."""
        self.scale = jnp.ones(size)

    def __call__(self, x: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:
        """Normalise the last axis."""
        wide = x.astype(jnp.float32)
        inverse = jax.lax.rsqrt(jnp.mean(wide**2, axis=-1, keepdims=True) + 1e-6)
        return (wide * inverse * jnp.broadcast_to(self.scale, x.shape)).astype(x.dtype)


class GatedMLP(eqx.Module):
    """Two matrices up, one gating the other, and one down (SwiGLU; Shazeer, 2020)."""

    gate_up: Linear
    """The gate, then what it lets through, in one matrix."""
    down: Linear

    def __init__(self, size: int, hidden_size: int, out_scale: float, key: Key[Array, ""]):
        """Outputs start at about size `out_scale`."""
        up_key, down_key = jax.random.split(key)
        self.gate_up = Linear(size, 2 * hidden_size, 1.0, up_key)
        self.down = Linear(hidden_size, size, out_scale, down_key)

    def __call__(self, x: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:
        """Apply to each token."""
        gate, up = jnp.split(self.gate_up(x), 2, axis=-1)
        return self.down(jax.nn.silu(gate) * up)

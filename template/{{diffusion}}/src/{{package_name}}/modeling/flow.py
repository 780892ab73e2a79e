"""The path from noise to image, and how to follow it.

Flow matching on straight lines (Lipman et al., 2023; Liu et al., 2023): a point moves from noise at
time 0 to an image at time 1 at constant speed. The network learns the mean velocity of all points
that pass a place at a time; following it turns noise into images.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, ScalarLike

Points = Float[Array, "batch height width channels"]
Times = Float[Array, "batch"]


def from_images(images: Points) -> Points:
    """Brightness 0..1 to the scale of the paths, -1..1, whose spread is near that of the noise."""
    return 2.0 * images - 1.0


def to_images(x: Points) -> Points:
    """The inverse of `from_images`, clipped to 0..1."""
    return jnp.clip(0.5 * (x + 1.0), 0.0, 1.0)


def point_on_path(noise: Points, images: Points, times: Times) -> Points:
    """Where a point is at a time: `(1 - t) noise + t image`."""
    t = times[:, None, None, None]
    return (1.0 - t) * noise + t * images


def path_velocity(noise: Points, images: Points) -> Points:
    """How fast it moves, at every time: `image - noise`, the derivative of `point_on_path`."""
    return images - noise


def guide(conditional: Points, unconditional: Points, guidance: ScalarLike) -> Points:
    """Classifier-free guidance (Ho and Salimans, 2022): past the velocity without a class.

    `unconditional + guidance * (conditional - unconditional)`, so that 0 ignores the class and 1 is
    the conditional model. Their weight w is `guidance - 1`.
    """
    return unconditional + guidance * (conditional - unconditional)


def integrate(velocity: Callable[[Points, Times], Points], start: Points, num_steps: int) -> Points:
    """Follow a velocity from time 0 to time 1 by Heun's method, in one compiled loop.

    Each step takes the mean of the velocities at its beginning and, as Euler's step would have it,
    at its end; the error falls with the square of the number of steps.

    Args:
        velocity: function of points and their times.
        start: points at time 0.
        num_steps: number of equal steps.
    """
    size = 1.0 / num_steps

    def at(x: Points, time: Float[Array, ""]) -> Points:
        return velocity(x, jnp.full(x.shape[0], time))

    def step(x: Points, index: Array) -> tuple[Points, None]:
        time = index * size
        first = at(x, time)
        second = at(x + size * first, time + size)
        return x + 0.5 * size * (first + second), None

    return jax.lax.scan(step, start, jnp.arange(num_steps, dtype=start.dtype))[0]

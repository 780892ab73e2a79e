"""Means that can be added up: over batches, over devices, over a padded remainder."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

HIGHER_IS_BETTER = ("accuracy",)
"""Metrics of which more is better, where a sweep ranks by them; of all others, less."""


class Mean(NamedTuple):
    """A weighted sum and its weight. A sum of means is the exact mean over all examples."""

    total: Float[Array, "*batch"]
    weight: Float[Array, "*batch"]

    def value(self) -> Float[Array, "*batch"]:
        """The mean; nan where nothing was counted."""
        return self.total / self.weight


def weighted_mean(values: Float[Array, "*batch"], weights: Float[Array, "*batch"]) -> Mean:
    """The mean of per-example values; an example of weight 0 does not count, whatever its value."""
    return Mean(jnp.where(weights > 0, values * weights, 0.0).sum(), weights.sum())

"""Counting compilations, as XLA reports them, and how much they optimize."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax

_compiled: list[str] = []


def _listen(event: str, duration_secs: float, **_: Any) -> None:
    del duration_secs
    if event == "/jax/core/compile/backend_compile_duration":
        _compiled.append(event)


jax.monitoring.register_event_duration_secs_listener(_listen)


class CompileCount:
    """How many programs were compiled in a block; read it after the block."""

    total: int = 0


@contextmanager
def count_compiles() -> Iterator[CompileCount]:
    """Count the programs that are compiled inside the block."""
    count, before = CompileCount(), len(_compiled)
    yield count
    count.total = len(_compiled) - before


@contextmanager
def optimized_programs() -> Iterator[None]:
    """Compile programs as users get them, and not as fast as possible."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.clear_caches()
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", before)
    jax.clear_caches()

"""Strict settings for every test, made before JAX starts a device."""

import os
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

# Compiled programs are kept between runs of the tests, and shared with the scripts they start.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parent / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

# Most of the time of the tests goes into compiling: programs, those of scripts too, are made to
# compile fast rather than to run fast.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
if version("jaxlib").startswith("0.10."):  # later ones do not know this flag, and end at it
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"--xla_cpu_use_fusion_emitters=false {flags}"

# Tests that run side by side share an accelerator; each must take only what it needs.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import pytest

from .compiles import optimized_programs

jax.config.update("jax_num_cpu_devices", 8)  # several devices, as on a real machine
jax.config.update("jax_numpy_rank_promotion", "raise")  # (n,) + (n, 1) is a bug, not a wish
jax.config.update("jax_debug_key_reuse", True)  # a key that is used twice is an error


@pytest.fixture
def optimized() -> Iterator[None]:
    """Programs optimized as users get them, for tests of what the compiler makes of a program.

    Only the emitters of fused loops differ, with the versions named above.
    """
    with optimized_programs():
        yield

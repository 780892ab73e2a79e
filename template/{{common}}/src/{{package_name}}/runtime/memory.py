"""What a device holds, what programs take of it, and how many members of a sweep fit."""

import os
from collections.abc import Callable

import jax
from jax.stages import Compiled
from jaxtyping import PyTree

_STATES = 0.25
"""Share of the memory that the states of a group may take: saving copies them."""
_PROGRAM = 0.8
"""Share of the memory that a program may take with all it reads and writes."""
_UNKNOWN = 8 * 2**30


def device_memory() -> int:
    """Bytes of one device; of the machine, for its CPU."""
    stats = jax.devices()[0].memory_stats() or {}
    if "bytes_limit" in stats:
        return int(stats["bytes_limit"])
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows
        return _UNKNOWN


def group_sizes(members: int, state: PyTree, memory: int) -> list[int]:
    """Sizes of groups, as even as can be, whose states fit into the memory together.

    Args:
        members: number of members with states of one shape.
        state: the state of one, or its shapes.
        memory: bytes of all devices.
    """
    size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
    most = max(1, int(_STATES * memory) // max(1, size))
    groups = -(-members // most)
    return [members // groups + (index < members % groups) for index in range(groups)]


def fitting_width(most: int, memory: int, needed: Callable[[int], int]) -> int:
    """The most members that can be computed side by side, halved until they fit.

    Args:
        most: members on one device.
        memory: bytes of one device.
        needed: bytes of the program of a width.
    """
    width = most
    while width > 1 and needed(width) > _PROGRAM * memory:
        width = -(-width // 2)
    return width


def program_bytes(program: Compiled) -> int:
    """Bytes that a compiled program takes, with its arguments and results; 0 if unknown."""
    analysis = program.memory_analysis()
    if analysis is None:
        return 0
    sizes = analysis.argument_size_in_bytes + analysis.output_size_in_bytes
    return sizes - analysis.alias_size_in_bytes + analysis.temp_size_in_bytes

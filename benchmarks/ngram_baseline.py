"""Bits per byte of n-gram models on the text of the language model: what training has to beat.

    python benchmarks/ngram_baseline.py [TEXT_FILE]

Fitted to the first nine tenths of the text and evaluated on every byte of the last tenth after its
first, as projects evaluate. Without a file it is the text that projects take by default, which
differs a little from one version of Python to another: run this with the Python of the project.
"""

import argparse
import math
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

LONGEST = 6
NUM_BYTES = 256


class Level(NamedTuple):
    """What followed the contexts of one length."""

    followers: dict[bytes, Counter[int]]
    totals: dict[bytes, int]
    discount: float


def default_text() -> bytes:
    from pydoc_data.topics import topics

    return "\n\n".join(topics[name] for name in sorted(topics)).encode()


def split(text: bytes) -> tuple[bytes, bytes]:
    """The text to fit, and the last tenth."""
    held_out = len(text) // 10
    return text[:-held_out], text[-held_out:]


def count(text: bytes, longest: int) -> list[dict[bytes, Counter[int]]]:
    """How often each byte followed each context of 0 to `longest - 1` bytes."""
    levels = []
    for size in range(longest):
        followers: dict[bytes, Counter[int]] = defaultdict(Counter)
        for end in range(size, len(text)):
            followers[text[end - size : end]][text[end]] += 1
        levels.append(dict(followers))
    return levels


def continuations(longer: dict[bytes, Counter[int]]) -> dict[bytes, Counter[int]]:
    """In place of how often a byte followed a context: after how many different bytes before it."""
    followers: dict[bytes, Counter[int]] = defaultdict(Counter)
    for context, counter in longer.items():
        followers[context[1:]].update(counter.keys())
    return dict(followers)


def level(followers: dict[bytes, Counter[int]]) -> Level:
    """Totals, and the absolute discount of Ney, Essen and Kneser (1994)."""
    once = sum(n == 1 for counter in followers.values() for n in counter.values())
    twice = sum(n == 2 for counter in followers.values() for n in counter.values())
    totals = {context: counter.total() for context, counter in followers.items()}
    # Where nothing was seen once, any discount will do that leaves something for what is new.
    return Level(followers, totals, once / (once + 2 * twice) if once else 0.5)


def witten_bell(levels: list[Level], history: bytes, byte: int) -> float:
    """Interpolated; a context seen with many different bytes trusts the shorter one more."""
    p = 1.0 / NUM_BYTES
    for size, (followers, totals, _) in enumerate(levels):
        context = history[len(history) - size :]
        if context in totals:
            seen = followers[context]
            p = (seen[byte] + len(seen) * p) / (totals[context] + len(seen))
    return p


def kneser_ney(levels: list[Level], history: bytes, byte: int) -> float:
    """Interpolated, with one discount for each length of context (Chen and Goodman, 1999)."""
    p = 1.0 / NUM_BYTES
    for size, (followers, totals, discount) in enumerate(levels):
        context = history[len(history) - size :]
        if context in totals:
            seen = followers[context]
            kept = max(0.0, seen[byte] - discount)
            p = (kept + discount * len(seen) * p) / totals[context]
    return p


Smoothing = Callable[[list[Level], bytes, int], float]


def models(text: bytes, longest: int) -> dict[str, tuple[Smoothing, list[Level]]]:
    """Each smoothing with the counts it needs, for n-grams of `longest` bytes."""
    counted = count(text, longest)
    shorter = [continuations(longer) for longer in counted[1:]]
    return {
        "Witten-Bell": (witten_bell, [level(followers) for followers in counted]),
        "Kneser-Ney": (kneser_ney, [level(f) for f in [*shorter, counted[-1]]]),
    }


def bits_per_byte(probability: Smoothing, levels: list[Level], text: bytes) -> float:
    """Mean over every byte after the first, each with as much history as the model takes."""
    longest = len(levels) - 1
    bits = 0.0
    for end in range(1, len(text)):
        history = text[max(0, end - longest) : end]
        bits -= math.log2(probability(levels[: len(history) + 1], history, text[end]))
    return bits / (len(text) - 1)


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    path = parser.parse_args().file
    try:
        fitted, held_out = split(default_text() if path is None else path.read_bytes())
    except OSError as error:
        parser.exit(2, f"cannot read {path}: {error.strerror}\n")
    print(f"fitted to {len(fitted)} bytes, bits per byte on the next {len(held_out)}:")
    for longest in range(1, LONGEST + 1):
        for name, (probability, levels) in models(fitted, longest).items():
            print(f"{longest}-gram, {name}: {bits_per_byte(probability, levels, held_out):.3f}")


if __name__ == "__main__":
    main()

"""The baselines that models are measured against are what they say."""

import math

import ngram_baseline as ngram
import pytest

TEXT = b"the cat sat on the mat, the rat sat on the hat. " * 3 + b"a bat?"


@pytest.mark.parametrize("longest", [1, 2, 5])
@pytest.mark.parametrize("name", ["Witten-Bell", "Kneser-Ney"])
def test_probabilities_of_all_bytes_sum_to_one(name: str, longest: int) -> None:
    probability, levels = ngram.models(TEXT, longest)[name]
    for history in (b"the ", b" bat", b"zzzz", b"zzth"):
        shares = [probability(levels, history, byte) for byte in range(256)]
        assert math.fsum(shares) == pytest.approx(1.0)
        assert min(shares) > 0.0


def test_witten_bell_follows_its_formula() -> None:
    """Of eight bytes b is three, and there are four kinds; after a come b, b and c."""
    probability, levels = ngram.models(b"abdabacb", 2)["Witten-Bell"]
    short = (3 + 4 / 256) / (8 + 4)
    assert probability(levels, b"a", ord("b")) == pytest.approx((2 + 2 * short) / (3 + 2))


def test_kneser_ney_counts_contexts_and_not_uses() -> None:
    """In `abababcb`, b follows a and c: twice in place of four times."""
    counted = ngram.count(b"abababcb", 2)
    assert counted[1][b"a"] == {ord("b"): 3}
    assert ngram.continuations(counted[1])[b""] == {ord("b"): 2, ord("a"): 1, ord("c"): 1}


def test_longer_contexts_help_and_the_held_out_tenth_is_the_last() -> None:
    fitted, held_out = ngram.split(TEXT * 10)
    assert fitted + held_out == TEXT * 10
    assert len(held_out) == len(TEXT)
    for name in ("Witten-Bell", "Kneser-Ney"):
        bits = [ngram.bits_per_byte(*ngram.models(fitted, n)[name], held_out) for n in (1, 3, 5)]
        assert bits == sorted(bits, reverse=True)

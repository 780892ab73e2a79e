"""The baselines that models are measured against are what they say, and so are the comparisons."""

import math

import comparison
import measured
import ngram_baseline as ngram
import pytest
import speed_report
import startup
import sweep
from conftest import ROOT
from contenders import turns

# Seconds of the first and the second start, and of the clock and of all cores.
STARTS = [(10.0, 5.0), (20.0, 8.0), (30.0, 18.0)]
SWEEPS = {
    "sweep": [(10.0, 16.0)],
    "processes": [(100.0, 80.0)],
    "recompiled": [(16.0, 16.0)],
    "in turn": [(20.0, 20.0)],
    "bare": [(8.0, 8.0)],
}
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


def test_ratios_are_of_neighbours_in_time() -> None:
    """The machine is twice as slow in the second round, for both of them."""
    found = comparison.ratio([3.0, 6.0, 5.0], [1.0, 2.0, 2.0])
    assert (found.median, found.smallest, found.largest) == (3.0, 2.5, 3.0)
    assert str(found) == "3.00 (2.50-3.00)"


@pytest.mark.parametrize("times", [[], [1.0], [1.0, 2.0, 3.0]])
def test_ratios_need_as_many_times_of_each(times: list[float]) -> None:
    with pytest.raises(ValueError, match="as many of each"):
        comparison.ratio(times, [] if not times else [1.0, 2.0])


@pytest.mark.parametrize(
    ("value", "is_lowest", "verdict"),
    [
        (1.2, True, "met"),
        (1.19, True, "MISSED"),
        (None, True, "not measured"),
        (1.2, False, "met"),
        (1.21, False, "MISSED"),
    ],
)
def test_a_goal_says_whether_it_was_met(value: float | None, is_lowest: bool, verdict: str) -> None:
    goal = comparison.Goal("some speed", value, 1.2, is_lowest)
    assert str(goal).startswith(verdict)
    assert goal.is_met == {"met": True, "MISSED": False, "not measured": None}[verdict]


def test_a_cure_that_no_longer_helps_is_named() -> None:
    helps, useless = comparison.Ratio(1.5, 1.4, 1.6), comparison.Ratio(1.01, 0.9, 1.1)
    assert "This helps: without it" in comparison.cure("This", helps)
    assert "This NO LONGER HELPS" in comparison.cure("This", useless)


def measurement(model: str, **times: list[float]) -> measured.Measured:
    """One in which the project takes 1 and then 2 seconds a step."""
    all_times = {"project": [1.0, 2.0], **{name.replace("_", " "): t for name, t in times.items()}}
    return measured.Measured(
        model,
        "float32",
        times=all_times,
        cpu=all_times,
        apart=dict.fromkeys(all_times, 1e-7),
        flops=2e9,
        best_flops=4e9,
        cures={"stepwise": {"with": [1.0, 1.0], "without": [2.0, 4.0]}},
        chunks={"10": [1.0, 1.0], "100": [1.25, 1.25]},
        host={"10": {"share": 0.01, "host_ms": 1.0, "cpu_ms": 0.8, "start_ms": 0.5}},
    )


def test_goals_are_held_against_the_closest_peer() -> None:
    found = [
        measurement("mlp", linen=[1.5, 3.0], torch=[1.3, 2.2]),
        measurement("transformer", equinox=[2.0, 4.0], linen=[1.7, 3.4]),
    ]
    by_text = {goal.text: goal for goal in measured.goals(found)}
    mlp = by_text["mlp: times as fast as every peer"]
    assert mlp.value == pytest.approx(1.2)
    assert by_text["transformer: times as fast as PyTorch"].is_met is None
    idioms = by_text["transformer: times as fast as the idioms of Equinox and Flax"]
    assert (idioms.value, idioms.is_met) == (1.7, False)
    assert by_text["cnn: times as fast as every peer"].is_met is None
    assert by_text["mlp: the host's share of a run in chunks of 10"].is_met is True
    # Slower either way counts: here it is the longer chunk.
    chunks = by_text["mlp: chunks of 10 against chunks of 100, the slower"]
    assert chunks.value == pytest.approx(25.0)


def test_the_report_shows_ratios_and_the_share_of_the_best_product() -> None:
    found = [measurement("mlp", torch=[3.0, 9.0])]
    text = speed_report.report("a machine", found, STARTS, SWEEPS)
    assert "| **this project** | 1500.00 | 1 | 1 | 33 % |" in text
    assert "| PyTorch, defaults | 6000.00 | 3.75 (3.00-4.50) | 3.75 | 8 % |" in text
    assert "without it a step takes 3.00 (2.00-4.00) times as long" in text
    assert "- mlp: 20.0 s from the start of the process" in text
    assert "| a process of `scripts/train.py` for each | 100.0 | 80.0 | 0.10 | 0.20 |" in text
    everything = [*measured.goals([]), *startup.goals([]), *sweep.goals({})]
    words = ("MISSED", "not measured", "- met")
    assert sum(text.count(word) for word in words) == len(everything)


def test_starts_and_sweeps_have_goals_of_their_own() -> None:
    """The share is of neighbours in time: 5 s after 10, 8 after 20, 18 after 30."""
    (start,) = startup.goals(STARTS)
    assert (start.value, start.is_met) == (pytest.approx(50.0), True)
    assert [goal.is_met for goal in sweep.goals(SWEEPS)] == [True, False, True]
    assert [goal.is_met for goal in (*startup.goals([]), *sweep.goals({}))] == [None] * 4


def test_the_short_table_has_the_fastest_of_each_library() -> None:
    found = measurement("mlp", torch=[3.0, 9.0], torch_tuned=[2.0, 4.0], linen=[1.5, 3.0])
    text = speed_report.short("a machine", [found])
    row = "| `mlp`, float32 | 2.00 (2.00-2.00) | 1.50 (1.50-1.50) | not measured |"
    assert row in text.splitlines()


@pytest.mark.parametrize("page", ["README.md", "docs/speed.md"])
def test_pages_have_a_place_for_what_was_measured(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert speed_report.inserted(text, "new").count(speed_report.BEGIN) == 1


def test_a_report_takes_the_place_of_the_last_one() -> None:
    page = f"top\n{speed_report.BEGIN}\nold\n{speed_report.END}\nbottom\n"
    once = speed_report.inserted(page, "new")
    assert once == f"top\n{speed_report.BEGIN}\n\nnew\n\n{speed_report.END}\nbottom\n"
    assert speed_report.inserted(once, "new") == once
    with pytest.raises(ValueError, match="needs the lines"):
        speed_report.inserted("a page without marks", "new")


def test_contenders_take_turns_forwards_and_backwards() -> None:
    order = []

    class Silent:
        def ask(self, name: str, steps: int, calls: int) -> dict[str, float]:
            order.append(name)
            return {"seconds": 12.0, "cpu": 18.0}

    contenders = {name: turns.Contender(Silent(), name, 3, calls=2) for name in "abc"}
    turns.take_turns(contenders, 2)
    assert "".join(order) == "abccba"
    assert contenders["a"].times == [2.0, 2.0]
    assert contenders["a"].cpu == [3.0, 3.0]

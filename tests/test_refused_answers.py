"""An answer that no project could have ends the copy with a plain sentence; nothing is written."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from answers import REFUSED, answers_of, free_text_only, refusal
from conftest import ROOT, Render, macro
from fast_render import FREE_TEXT
from questions import asked


@pytest.fixture(scope="module")
def snapshot(snapshot: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return free_text_only(snapshot, tmp_path_factory.mktemp("smaller") / "template")


@pytest.mark.parametrize("character", REFUSED.values(), ids=REFUSED)
def test_invisible_characters_are_refused(render: Render, character: str) -> None:
    for question in FREE_TEXT:
        # At the end too: a pattern that ends in `$` lets one line break pass there.
        for text in (f"a{character}b", f"ab{character}"):
            assert "control character" in refusal(render, **{question: text})


@pytest.mark.parametrize("question", FREE_TEXT)
def test_text_that_no_one_means_is_refused(render: Render, question: str) -> None:
    assert "is empty" in refusal(render, **{question: ""})
    assert "is empty" in refusal(render, **{question: "  "})
    assert "ends with a blank" in refusal(render, **{question: "a "})
    assert "Shorten it" in refusal(render, **{question: "a" * 501})


@pytest.mark.parametrize("text", ["\u200b", "\u3164", "\u2800\u200d", "\ufe0f", "\U000e0041"])
def test_text_that_no_one_can_see_is_empty(render: Render, text: str) -> None:
    for question in FREE_TEXT:
        assert "is empty" in refusal(render, **{question: text})
    assert answers_of(render(description=f"a{text}b"))["description"] == f"a{text}b"


@pytest.mark.parametrize("name", ["modle", "licence", "mlp", "distribution_name", "common", "_x"])
def test_only_questions_are_answered(render: Render, tmp_path: Path, name: str) -> None:
    """Copier would drop a misspelt name, and let a computed answer be anything."""
    with pytest.raises(ValueError, match=f"There is no question {name}. The questions are"):
        render(**{name: "x"})
    assert list(tmp_path.iterdir()) == []


def test_the_questions_named_are_those_asked() -> None:
    config = yaml.safe_load((ROOT / "copier.yml").read_text(encoding="utf-8"))
    assert macro("check_data", dict.fromkeys(asked(config)), "2026") == ""
    assert macro("check_data", {"other": 1}, "2026").endswith(f"are {', '.join(asked(config))}.")


@pytest.mark.parametrize("year", ["26", "20266", "soon", "2026\n"])
def test_a_year_has_four_digits(render: Render, year: str) -> None:
    with pytest.raises(ValueError, match="does not have four digits"):
        render(year=year)


@pytest.mark.parametrize(
    "email", ["me", "a@b", "a b@c.org", "a@b.org\n", "ü@b.org", "a@b..org", '"a"@b.org', ".a@b.org"]
)
def test_bad_email_is_refused(render: Render, email: str) -> None:
    assert "name@example.org" in refusal(render, author_email=email)


@pytest.mark.parametrize(
    ("question", "offered"),
    [("license", "Apache-2.0"), ("python_version", "3.12"), ("model", "mlp")],
)
def test_other_choices_are_refused(render: Render, question: str, offered: str) -> None:
    assert answers_of(render(**{question: offered}))[question] == offered
    message = refusal(render, **{question: "3.1"})
    assert "Invalid choice" in message
    assert offered in message


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (
            "package_name=class",
            "The name class is a keyword of Python, so no code could import it.",
        ),
        ("package_name=" + "a" * 41, "A package name has 1 to 40 characters"),
        ("project_name=" + "a" * 81, "It has 81 characters. Shorten it to 80 or fewer."),
        ("description=" + "ä" * 501, "It has 501 characters. Shorten it to 500 or fewer."),
        ("author_name=" + "a" * 100_000, "Shorten it to 200 or fewer."),
        ("author_email=a@b", "Correct it, or leave it empty."),
        ("description=two\nlines", "Retype it as one line of plain text."),
        ("model=none", "'none' is not in ['mlp', 'cnn', 'transformer', 'diffusion']"),
    ],
)
def test_command_line_refuses_and_writes_nothing(
    snapshot: Path, tmp_path: Path, answer: str, sentence: str
) -> None:
    command = [sys.executable, "-m", "copier", "copy", "--defaults", "--data", answer]
    result = subprocess.run(
        [*command, str(snapshot), str(tmp_path / "out")], capture_output=True, text=True
    )
    assert result.returncode == 1
    assert sentence in result.stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []

"""Answers that people type: hostile ones, refused ones, and any."""

import shutil
from pathlib import Path

import pytest
import yaml
from conftest import Render
from hypothesis import Phase, settings
from hypothesis import strategies as st

HOSTILE = [
    'Tony "Iron Man" Stark',
    r"back\slash \n \u0041 C:\new",
    "it's <b> & 'x' \"\"\" '''",
    "Zoë 😀 𠮷",
    "# no comment: [x] {y} | > - * & ! % @ `",
    "{{ 7 * 7 }} {% raw %} {# x #} ${{ github.ref }}",
    "`a` ``b``",
    "yes no null ~ 1.10",
    "1.10",
    "---",
    "عربي x",
    "a\u00a0b \u200f c",
    "-rf --help",
    "- item",
    "CON",
    "nul.txt",
    "null",
    "!!python/object x",
    "*anchor &anchor",
    "'",
    '"',
    "\\",
    '\\"',
    '"""',
    "'''",
    "$HOME `id` $(id) %PATH%",
    "<script>alert(1)</script>",
    "&amp; &lt;",
    "[x](y) ![z](w) <https://example.org>",
    "0x10 1e3 0o7 12:30:45 2001-01-01",
    "=cmd|' /C calc'!A0",
    "e\u0301 \u200b \u200d",
    "😀" * 80,
    "x" * 80,
    "y " * 39 + "y",
]

# What a person would call "not one line of visible text", each with its kind.
REFUSED = {
    "line feed": "\n",
    "carriage return": "\r",
    "tab": "\t",
    "null": "\x00",
    "escape": "\x1b",
    "delete": "\x7f",
    "C1 control": "\x85",
    "line separator": "\u2028",
    "paragraph separator": "\u2029",
    "direction override": "\u202e",
    "direction isolate": "\u2066",
    "byte order mark": "\ufeff",
    "no character": "\uffff",
    "half of a pair": "\udc80",
}

# The same strings in each run, and no search for a shorter one that fails: it renders for minutes.
FUZZ = settings(
    derandomize=True, database=None, deadline=None, phases=[Phase.explicit, Phase.generate]
)

one_line = st.text(
    st.characters(
        exclude_categories=["Cc", "Cs", "Zl", "Zp"],
        exclude_characters="\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\ufffe\uffff",
    ),
    min_size=1,
    max_size=60,
).filter(lambda text: text == text.strip())

# Whatever can be typed or pasted: any code point, and pieces that some format gives a meaning.
anything = st.one_of(
    one_line,
    st.text(max_size=90),
    st.lists(st.sampled_from([*HOSTILE, *REFUSED.values(), "a", " "]), max_size=3).map("".join),
)


def free_text_only(snapshot: Path, folder: Path) -> Path:
    """The template with only the files that free text can reach, so that many renders are fast."""
    shutil.copytree(snapshot, folder)
    for path in (folder / "template").rglob("*"):
        if path.is_file() and (path.suffix != ".jinja" or path.name.endswith(".py.jinja")):
            path.unlink()
    return folder


def answers_of(project: Path) -> dict[str, str]:
    return yaml.safe_load((project / ".copier-answers.yml").read_text(encoding="utf-8"))


def refusal(render: Render, **answers: str) -> str:
    """The sentence with which an answer is refused."""
    with pytest.raises(ValueError, match=f"'{next(iter(answers))}'") as caught:
        render(**answers)
    return str(caught.value)

"""What the documents tell people to type exists, and they name every question and answer."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

import fast_render
import pytest
import yaml
from conftest import ROOT
from questions import asked, closed
from test_frozen_paths import OWNERSHIP, owners

README = (ROOT / "README.md").read_text(encoding="utf-8")
CONFIG = yaml.safe_load((ROOT / "copier.yml").read_text(encoding="utf-8"))
QUESTIONS = asked(CONFIG)
MODELS = list(CONFIG["model"]["choices"].values())
ONE_LINE = "python3 -m venv .venv && .venv/bin/pip install -q 'nox[uv]' && .venv/bin/nox"


def commands(markdown: str) -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```", markdown, flags=re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines()]


def table_rows(markdown: str) -> dict[str, str]:
    """First cell to the rest, of rows whose first cell is one code span."""
    return dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", markdown, flags=re.MULTILINE))


def test_first_two_commands_are_the_demo_and_the_tests() -> None:
    assert commands(README)[:2] == [f"{ONE_LINE} -s demo", ONE_LINE]


def test_ci_runs_the_test_command_letter_for_letter() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert script[0] == "#!/usr/bin/env bash"
    code = [line for line in script if line and not line.startswith(("#", "cd "))]
    assert code == ["set -euo pipefail", commands(README)[1]]


def test_each_question_is_documented_with_its_choices() -> None:
    rows = table_rows(README)
    assert [name for name in rows if name in QUESTIONS] == list(QUESTIONS)
    # Models have a table of their own.
    for name, answers in closed(CONFIG).items():
        if name != "model":
            assert [answer for answer in answers if f"`{answer}`" not in rows[name]] == []
    asked_of_all = [d for d in QUESTIONS.values() if d.get("ask", True)]
    words = ["seven", "eight", "nine", "ten"]
    assert f"Copier asks {words[len(asked_of_all) - 7]} questions" in README


def test_each_model_is_documented() -> None:
    assert [name for name in table_rows(README) if name in MODELS] == MODELS


def test_each_question_has_help_a_default_and_a_rule() -> None:
    for name, details in QUESTIONS.items():
        assert {"help", "default"} <= details.keys(), name
        assert details.keys() & {"validator", "choices"}, name


def test_commands_after_a_copy_are_those_of_the_message() -> None:
    listed = commands(README)
    start = listed.index("cd my-project")
    message = CONFIG["_message_after_copy"]
    for command in listed[start + 1 : start + 3]:
        assert f"\n  {command}\n" in message or f"    {command}\n" in message


PROJECTS = [
    {"model": model, "launcher": launcher, "package_name": "qx"}
    for model in MODELS
    for launcher in closed(CONFIG)["launcher"]
]


def layout(answers: dict[str, str]) -> tuple[set[str], str]:
    """Paths of a project, and what its README says of them."""
    files = fast_render.render(**answers)
    _, _, section = files["README.md"].partition("\n## How the code is laid out\n")
    return set(files), section.partition("\n## ")[0]


@pytest.mark.parametrize("answers", PROJECTS, ids=lambda answers: "-".join(answers.values()))
def test_a_project_lists_the_files_of_its_runtime(answers: dict[str, str]) -> None:
    paths, section = layout(answers)
    runtime = "src/qx/runtime/"
    entries = {path.removeprefix(runtime) for path in paths if path.startswith(runtime)}
    cells = re.findall(r"^\| (`.*?`) \|", section, flags=re.MULTILINE)
    listed = [name for cell in cells for name in re.findall("`(.+?)`", cell)]
    for name in listed:
        assert any(fnmatchcase(entry, name) for entry in entries), f"no {name}"
    unlisted = {e for e in entries if not any(fnmatchcase(e, name) for name in listed)}
    assert unlisted == {"__init__.py"}


@pytest.mark.parametrize("answers", PROJECTS, ids=lambda answers: "-".join(answers.values()))
def test_a_project_says_which_files_are_its_own(answers: dict[str, str]) -> None:
    paths, section = layout(answers)
    own = {pattern for pattern, owner in owners(OWNERSHIP).items() if owner == "Yours"}
    yours = {
        path.replace("src/qx/", "", 1)
        for path in paths
        if any(fnmatchcase(path, pattern.replace("<package>", "qx")) for pattern in own)
    }
    _, _, text = section.partition("\nYours to rewrite are")
    named = re.findall("`([^` ]+)`", text)
    for name in named:
        assert any(path.startswith(name) for path in yours), f"{name} is not there, or not theirs"
    unnamed = {path for path in yours if not path.startswith(tuple(named))}
    # Those tests have no names here that hold for every model.
    assert {path for path in unnamed if not path.startswith("tests/test_")} <= {"LICENSE"}


@pytest.mark.parametrize(
    "page",
    sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/**/*.md")),
    ids=lambda page: page.name,
)
def test_links_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    missing = [x for x in links if "://" not in x and not (page.parent / x).exists()]
    assert missing == []

"""What the documents tell people to type exists, and is what CI runs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import ROOT
from questions import asked, closed

README = (ROOT / "README.md").read_text(encoding="utf-8")
CONFIG = yaml.safe_load((ROOT / "copier.yml").read_text(encoding="utf-8"))
QUESTIONS = asked(CONFIG)
ROWS = ["tensorboard-slurm", "wandb-skypilot"]
MODELS = list(CONFIG["model"]["choices"].values())
SESSIONS = ["bench", "demo", "lint", "options", "release", "tests", "update", "variants"]
ONE_LINE = "python3 -m venv .venv && .venv/bin/pip install -q 'nox[uv]' && .venv/bin/nox"


def commands(markdown: str) -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```", markdown, flags=re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines()]


def sessions(*options: str) -> list[dict[str, str]]:
    nox = [sys.executable, "-m", "nox", "--list", "--json", *options]
    result = subprocess.run(nox, cwd=ROOT, check=True, capture_output=True, text=True)
    return json.loads(result.stdout)


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


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_sessions_that_a_page_names_exist(page: str) -> None:
    listed = sessions("-s", *SESSIONS)
    known = {session[key] for session in listed for key in ("name", "session")}
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"nox -s (\"[^\"]+\"|\w+)", text)
    assert named
    assert {name.strip('"') for name in named} <= known


def test_plain_nox_runs_every_check_and_every_model() -> None:
    names = [s["session"] for s in sessions()]
    assert names == [
        *("lint", "tests", "update"),
        *(f"options({row})" for row in ROWS),
        *(f"variants({model})" for model in MODELS),
    ]


def test_each_session_says_its_promise() -> None:
    for session in sessions("-s", *SESSIONS):
        assert 20 < len(session["description"]) < 100


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


@pytest.mark.parametrize(
    "page",
    sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/**/*.md")),
    ids=lambda page: page.name,
)
def test_links_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    missing = [x for x in links if "://" not in x and not (page.parent / x).exists()]
    assert missing == []


def test_actions_are_pinned_by_commit_and_can_only_read() -> None:
    for path in ROOT.glob(".github/workflows/*.yml"):
        text = path.read_text(encoding="utf-8")
        uses = re.findall(r"uses: (\S+)", text)
        assert uses
        assert [u for u in uses if not re.fullmatch(r"[\w/.-]+@[0-9a-f]{40}", u)] == []
        assert yaml.safe_load(text)["permissions"] == {"contents": "read"}

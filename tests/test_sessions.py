"""Sessions of the noxfile are what the documents name, and CI runs each that checks something."""

import itertools
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import ci_sessions
import fast_render
import pytest
import yaml
from conftest import ROOT
from questions import closed

CLOSED = closed(fast_render.CONFIG)
MODELS = CLOSED["model"]
NOT_IN_CI = ["bench", "gpu", "release"]
SESSIONS = [*ci_sessions.SESSIONS, *NOT_IN_CI]


def rows() -> list[dict[str, str]]:
    """The answers of each installed project of the session `options`."""
    found = [session["call_spec"]["answers"] for session in ci_sessions.listed("options")]
    return [dict(answer.split("=") for answer in answers) for answers in found]


def test_plain_nox_runs_every_check_and_every_model() -> None:
    assert [session["session"] for session in ci_sessions.listed()] == [
        *("lint", "tests", "update"),
        *("options(mlp-tensorboard-slurm)", "options(mlp-wandb-skypilot)"),
        *(f"variants({model})" for model in MODELS[1:]),
    ]
    assert {row["model"] for row in rows()[:2]} == {MODELS[0]}


def test_plain_nox_installs_each_answer_that_brings_code() -> None:
    first = rows()[:2]
    for question in ("tracker", "launcher"):
        assert {row[question] for row in first} == set(CLOSED[question]) - {"none"}
    assert {row["python_version"] for row in first} == {CLOSED["python_version"][0]}


def test_each_two_answers_are_in_one_installed_row() -> None:
    installed = rows()
    for question, answers in CLOSED.items():
        assert {row[question] for row in installed} == set(answers)
    together = [question for question in CLOSED if question != "license"]
    wanted = {
        ((one, first), (other, second))
        for one, other in itertools.combinations(together, 2)
        for first, second in itertools.product(CLOSED[one], CLOSED[other])
    }
    found = {
        ((one, row[one]), (other, row[other]))
        for row in installed
        for one, other in itertools.combinations(together, 2)
    }
    assert sorted(wanted - found) == []


def test_sessions_name_the_pythons_and_models_of_the_questions() -> None:
    pythons = [session["python"] for session in ci_sessions.listed("pythons")]
    assert pythons == CLOSED["python_version"]
    for session in ("variants", "gpu"):
        listed = ci_sessions.listed(session)
        assert [each["call_spec"]["model"] for each in listed] == MODELS
    # A project is installed with a Python that it allows.
    for session in ci_sessions.listed("options"):
        lowest = dict(answer.split("=") for answer in session["call_spec"]["answers"])
        assert session["python"] in (None, lowest["python_version"])
        assert session["python"] or lowest["python_version"] == pythons[0]


def test_lowest_versions_cover_every_library() -> None:
    names: dict[str, set[str]] = {"lowest": set(), "all": set()}

    def named(**answers: str) -> set[str]:
        text = fast_render.render(**answers)["pyproject.toml"]
        return set(re.findall(r'^  "([\w-]+)>=', text, flags=re.MULTILINE))

    for session in ci_sessions.listed("lowest"):
        assert session["python"] == CLOSED["python_version"][0]
        names["lowest"] |= named(**dict(a.split("=") for a in session["call_spec"]["answers"]))
    for model, tracker in itertools.product(MODELS, CLOSED["tracker"]):
        names["all"] |= named(model=model, tracker=tracker)
    assert len(names["all"]) > 15
    assert names["lowest"] == names["all"]


def test_each_session_says_its_promise() -> None:
    for session in ci_sessions.listed(*SESSIONS):
        assert 20 < len(session["description"]) < 100


def test_ci_runs_every_session_that_checks_something() -> None:
    noxfile = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    defined = re.findall(r"^@nox.session.*\n(?:@nox.*\n)*def (\w+)", noxfile, flags=re.MULTILINE)
    assert sorted(defined) == sorted(SESSIONS)
    jobs = ci_sessions.jobs()
    assert len(jobs) < 100
    wanted = {session["session"] for session in ci_sessions.listed(*ci_sessions.SESSIONS)}
    assert {job["session"] for job in jobs} == wanted
    # Both ends of what is supported, or the one that a session asks for.
    for python in (CLOSED["python_version"][0], CLOSED["python_version"][-1]):
        assert {"session": "variants(mlp)", "python": python} in jobs
    assert {"session": "pythons-3.12", "python": "3.12"} in jobs
    assert sum(job["session"] == "pythons-3.12" for job in jobs) == 1


def test_ci_has_the_history_that_updates_start_from() -> None:
    workflow: dict[str, Any] = yaml.safe_load(
        (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    )
    checkout = workflow["jobs"]["check"]["steps"][0]
    assert checkout["uses"].startswith("actions/checkout@")
    assert checkout["with"]["fetch-depth"] == 0


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_sessions_that_a_page_names_exist(page: str) -> None:
    listed = ci_sessions.listed(*SESSIONS)
    known = {session[key] for session in listed for key in ("name", "session")}
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"nox -s (\"[^\"]+\"|[\w.-]+)", text)
    assert named
    assert {name.strip('"') for name in named} <= known


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["cnm"], "no model is cnm; cnn is one. For a folder write ./cnm"),
        (["./tests"], f"{ROOT / 'tests'} exists and is not an empty folder"),
        (["cnn", "mlp"], "give one FOLDER or MODEL, not 2: cnn mlp"),
    ],
)
def test_the_demo_refuses_what_it_cannot_mean(
    tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    nox = [sys.executable, "-m", "nox", "--envdir", str(tmp_path), "--session", "demo", "--"]
    result = subprocess.run([*nox, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has an NVIDIA GPU")
def test_without_a_gpu_its_session_says_so(tmp_path: Path) -> None:
    nox = [sys.executable, "-m", "nox", "--envdir", str(tmp_path), "--session", "gpu(mlp)"]
    result = subprocess.run(nox, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 1
    said = [line for line in result.stderr.splitlines() if "NVIDIA GPU" in line]
    assert len(said) == 1
    assert "This machine has no NVIDIA GPU, or its driver is not loaded" in said[0]
    assert "Traceback" not in result.stderr


def workflows() -> list[Path]:
    """The template's own and those of projects."""
    places = [ROOT / ".github", *(ROOT / "template").glob("*/.github")]
    return [path for place in places for path in sorted((place / "workflows").glob("*.yml*"))]


def test_actions_are_pinned_by_commit_and_can_only_read() -> None:
    paths = workflows()
    assert len(paths) >= 2
    pins: dict[str, set[str]] = {}
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert "\npermissions:\n  contents: read\n" in text
        assert text.count("permissions:") == 1
        uses = re.findall(r"uses: (.*)", text)
        assert uses
        for use in uses:
            pinned = re.fullmatch(r"([\w/.-]+)@([0-9a-f]{40} # v\d+\.\d+\.\d+)", use)
            assert pinned, f"{path}: {use}"
            pins.setdefault(pinned[1], set()).add(pinned[2])
    # One version of each, here and in projects.
    assert {action: found for action, found in pins.items() if len(found) != 1} == {}

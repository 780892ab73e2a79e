"""Every combination of the closed questions is a whole project, and each answer matters."""

import itertools
import json
import re
import tomllib
from functools import cache
from pathlib import Path

import fast_render
import pytest
import yaml
from conftest import ROOT
from questions import closed
from test_render import expected_paths

QUESTIONS = closed(fast_render.CONFIG)
COMBINATIONS = [
    dict(zip(QUESTIONS, answers, strict=True)) for answers in itertools.product(*QUESTIONS.values())
]
PARSERS = {
    ".py": lambda text: compile(text, "file", "exec", dont_inherit=True),
    ".toml": tomllib.loads,
    ".yml": yaml.safe_load,
    ".yaml": yaml.safe_load,
    ".json": json.loads,
}


@cache
def fault(name: str, text: str) -> str:
    """What is wrong with a file; each different text is looked at once."""
    if name.startswith(".github"):
        text = re.sub(r"\$\{\{.*?\}\}", "x", text)
    if name != fast_render.ANSWERS and re.search(r"\{\{|\{%|\{#", text):
        return "holds Jinja"
    if text and not re.search(r"[^\n]\n\Z", text):
        return "does not end with one line break"
    if re.search(r"[ \t]\n|\n\n\n\n", text):
        return "has blanks at an end of line, or three blank lines"
    try:
        PARSERS.get(Path(name).suffix, str)(text)
    except (SyntaxError, ValueError, yaml.YAMLError) as error:
        return str(error)
    return ""


def test_every_combination_has_its_files_and_no_fault() -> None:
    assert len(COMBINATIONS) >= 200
    for answers in COMBINATIONS:
        files = fast_render.render(package_name="qx", year="2000", **answers)
        assert files.keys() == expected_paths(answers, "qx"), answers
        assert {name: found for name in files if (found := fault(name, files[name]))} == {}, answers


def test_a_fault_would_be_seen() -> None:
    assert fault("a.toml", 'a = "b"c"\n')
    assert fault("a.py", "def f(:\n")
    assert fault("a.json", "{,}\n")
    assert fault("a.yml", "a: {\n")
    assert fault("a.md", "{{ title }}\n")
    assert fault("a.md", "no line break")
    assert not fault(".github/workflows/a.yml", "a: ${{ b }}\n")


@pytest.mark.parametrize("question", QUESTIONS)
def test_two_different_answers_make_two_different_projects(question: str) -> None:
    answers = QUESTIONS[question]
    projects = [fast_render.render(**{question: answer}) for answer in answers]
    for project in projects:
        del project[fast_render.ANSWERS]
    for (one, first), (other, second) in itertools.combinations(
        zip(answers, projects, strict=True), 2
    ):
        assert first != second, f"{one} and {other} give the same project"


def test_gitlab_runs_what_github_runs() -> None:
    """All sessions of noxfile.py with the tag ci, on the Pythons of the classifiers."""
    noxfile = (ROOT / "template" / "{{common}}" / "noxfile.py").read_text(encoding="utf-8")
    tagged = re.findall(r'tags=\["ci"\]\)\ndef (\w+)', noxfile)
    for lowest in QUESTIONS["python_version"]:
        files = fast_render.render(ci="gitlab", python_version=lowest)
        jobs = yaml.safe_load(files[".gitlab-ci.yml"])
        pythons = jobs["tests"]["parallel"]["matrix"][0]["PYTHON"]
        metadata = tomllib.loads(files["pyproject.toml"])["project"]
        named = re.findall(r"Python :: (3\.\d+)", "\n".join(metadata["classifiers"]))
        assert pythons == named
        assert [*jobs["check"]["parallel"]["matrix"][0]["SESSION"], "tests"] == tagged

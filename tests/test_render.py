"""Each variant renders to exactly the files it should, all of them whole, readable and clean."""

import re
import tomllib
from pathlib import Path
from typing import Any

import checks
import copier
import fast_render
import pytest
import yaml
from conftest import ROOT, Render, git
from projects import texts
from questions import closed, rows

CONFIG = yaml.safe_load((ROOT / "copier.yml").read_text(encoding="utf-8"))
MODELS = list(CONFIG["model"]["choices"].values())
# Short and long, because a longer name moves line breaks. Neither is a word of any file.
NAMES = ["qx", "q" * 40]


OVERLAYS = {
    "mlp": ["common", "digits", "classifier", "mlp"],
    "cnn": ["common", "digits", "classifier", "cnn"],
    "transformer": ["common", "transformer"],
    "diffusion": ["common", "digits", "diffusion"],
}
"""What each model is made of."""


OPTIONS = {
    "ci": {"github": ["github"], "gitlab": ["gitlab"], "none": []},
    "tracker": {"none": ["untracked"], "tensorboard": ["tensorboard"], "wandb": ["wandb"]},
    "launcher": {"none": [], "slurm": ["slurm"], "skypilot": ["skypilot"]},
    "devcontainer": {"no": [], "yes": ["containers"]},
}
"""What each answer adds."""


def expected_paths(answers: dict[str, Any], package: str) -> set[str]:
    """The written lists of tests/expected_paths, which are looked at when they change."""
    names = list(OVERLAYS[answers["model"]])
    for question, overlays in OPTIONS.items():
        names += overlays[answers[question]]
    lists = [ROOT / "tests" / "expected_paths" / f"{name}.txt" for name in names]
    lines = [line for path in lists for line in path.read_text(encoding="utf-8").splitlines()]
    return {line.replace("<package>", package) for line in lines}


def renders() -> list[dict[str, Any]]:
    """Each model with a short and a long name, and each other answer, at least once."""
    names = [(model, name) for model in MODELS for name in NAMES]
    options = rows({name: answers for name, answers in closed(CONFIG).items() if name != "model"})
    found = []
    for n in range(max(len(names), len(options))):
        model, name = names[n % len(names)]
        found.append(options[n % len(options)] | {"model": model, "package_name": name})
    return found


@pytest.fixture(scope="session", params=renders(), ids=lambda row: f"{row['model']}-{row['ci']}")
def answers(request: pytest.FixtureRequest) -> dict[str, Any]:
    return request.param


@pytest.fixture(scope="session")
def project(
    answers: dict[str, Any], snapshot: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("render") / "project"
    copier.run_copy(str(snapshot), folder, answers, defaults=True, quiet=True)
    return folder


def test_files_are_exactly_the_expected_ones(project: Path, answers: dict[str, Any]) -> None:
    assert checks.relative(project) == expected_paths(answers, answers["package_name"])


def test_the_fast_render_is_that_of_copier(project: Path, answers: dict[str, Any]) -> None:
    """So what is found of every combination in that way holds of projects."""
    expected = texts(project)
    # Copier also stores where it rendered from.
    stored = expected[checks.ANSWERS]
    expected[checks.ANSWERS] = re.sub(r"^_src_path: .*\n", "", stored, flags=re.MULTILINE)
    assert fast_render.render(**answers) == expected


@pytest.mark.parametrize(
    "check",
    [checks.leftovers, checks.unreadable, checks.untidy, checks.lint, checks.absolute_imports],
    ids=lambda check: check.__name__,
)
def test_no_fault_is_found(project: Path, check) -> None:
    assert list(check(project)) == []


FAULTS = {
    checks.leftovers: ("README.md", "{{ title }}\n"),
    checks.unreadable: ("pyproject.toml", 'name = "a"b"\n'),
    checks.untidy: ("README.md", "blank at the end \n"),
    checks.lint: ("scripts/train.py", "import os\n"),
    checks.absolute_imports: ("src/qx/__init__.py", "from qx import configs\n"),
}


@pytest.mark.parametrize("check", FAULTS, ids=lambda check: check.__name__)
def test_each_check_finds_a_planted_fault(render: Render, check) -> None:
    project = render(package_name="qx")
    name, line = FAULTS[check]
    with (project / name).open("a", encoding="utf-8") as opened:
        opened.write(line)
    assert len(list(check(project))) >= 1


def test_an_empty_folder_is_found(render: Render) -> None:
    project = render()
    (project / "empty").mkdir()
    assert f"{project / 'empty'}: an empty folder" in list(checks.untidy(project))


def test_workflow_expressions_are_those_of_the_template(render: Render) -> None:
    assert checks.expressions(render()) == [
        "fromJSON(needs.plan.outputs.sessions)",
        "github.ref",
        "github.workflow",
        "matrix.check.python || '3.13'",
        "matrix.check.session",
        "steps.list.outputs.sessions",
    ]


def test_project_ignores_none_of_its_own_files(render: Render) -> None:
    """An update deletes the user's edits, past recovery, in a file that git does not know."""
    project = render()
    paths = checks.relative(project)
    git(project, "init", "--quiet")
    git(project, "add", "--all")
    assert set(git(project, "ls-files").splitlines()) == paths


@pytest.mark.parametrize(
    ("license", "spdx", "phrase"),
    [
        ("MIT", "MIT", "MIT License"),
        ("Apache-2.0", "Apache-2.0", "Apache License"),
        ("BSD-3-Clause", "BSD-3-Clause", "BSD 3-Clause License"),
        ("Proprietary", "LicenseRef-Proprietary", "All rights reserved"),
    ],
)
def test_licence(render: Render, license: str, spdx: str, phrase: str) -> None:
    project = render(license=license, author_name="Ada Lovelace", year="1843")
    text = (project / "LICENSE").read_text(encoding="utf-8")
    assert phrase in text
    assert "1843" in text
    assert "Ada Lovelace" in text
    metadata = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert metadata["license"] == spdx


@pytest.mark.parametrize(
    ("lowest", "supported"),
    [("3.11", ["3.11", "3.12", "3.13"]), ("3.12", ["3.12", "3.13"]), ("3.13", ["3.13"])],
)
def test_pythons(render: Render, lowest: str, supported: list[str]) -> None:
    project = render(python_version=lowest)
    metadata = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert metadata["requires-python"] == f">={lowest}"
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(metadata["classifiers"]))
    assert named == supported


def test_each_folder_of_the_template_is_an_overlay_of_a_computed_answer() -> None:
    folders = {path.name for path in (ROOT / "template").iterdir() if path.is_dir()}
    overlays = {folder.strip("{}") for folder in folders}
    assert folders == {f"{{{{{name}}}}}" for name in overlays}
    listed = list(OVERLAYS.values())
    listed += [names for answers in OPTIONS.values() for names in answers.values()]
    assert overlays == {name for names in listed for name in names}
    assert [name for name in overlays if CONFIG[name]["when"] is not False] == []


def test_jinja_is_only_where_the_package_must_be_named() -> None:
    """Python in the package has none, so that ruff and people read it in place."""
    template = ROOT / "template"
    inside = [p for p in template.rglob("*.py.jinja") if p.parent.name not in ("scripts", "tests")]
    assert inside == []


def test_git_ignores_no_file_of_the_template() -> None:
    """It would be missing from each project, and only from clones, not from this work tree."""
    options = ["--others", "--ignored", "--exclude-standard", "--directory"]
    ignored = git(ROOT, "ls-files", *options, "template").splitlines()
    caches = ("__pycache__/", "_cache/")
    assert [path for path in ignored if not path.endswith(caches)] == []

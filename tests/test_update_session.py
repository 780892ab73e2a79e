"""A project's own `nox -s update` never ends well when there is something to look at."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import git
from projects import ANSWERS, commit, render_tag, start, write
from releases import stage_work_tree, tag_commit

pytestmark = pytest.mark.update

OLD, NEW = "v0.0.1", "v0.0.2"
DROPPED = ["docs/configuration.md", "pyrightconfig.json"]
"""Files that the newer template does not have; the user has edited the first."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two versions; the newer has another first line in its hooks, and two files less."""
    repository = tmp_path_factory.mktemp("history") / "the template"
    git(repository.parent, "init", "--quiet", repository.name)
    stage_work_tree(repository)
    commit(repository)
    tag_commit(repository, OLD)
    common = repository / "template" / "{{common}}"
    hooks = common / ".pre-commit-config.yaml"
    write(common, {hooks.name: "# newer\n" + hooks.read_text(encoding="utf-8")})
    for name in DROPPED:
        (common / name).unlink()
    commit(repository)
    tag_commit(repository, NEW)
    return repository


@pytest.fixture
def project(template: Path, tmp_path: Path) -> Path:
    return start(render_tag(template, OLD, tmp_path / "render"), tmp_path / "mein Projekt ü")


def session(project: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nox", "--session", "update", "--", *arguments]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        command,
        cwd=project,
        env=os.environ | {"PATH": path, "NOX_REPORT": ""} | environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


def change(project: Path, name: str, old: str, new: str) -> None:
    text = (project / name).read_text(encoding="utf-8")
    assert old in text
    write(project, {name: text.replace(old, new, 1)})


def test_a_clean_update_ends_well(project: Path) -> None:
    change(project, "README.md", "\n", " of ours\n")
    commit(project)
    result = session(project)
    assert result.returncode == 0, result.stderr
    assert "Updated. Look at git diff" in result.stderr
    assert (project / ".pre-commit-config.yaml").read_text(encoding="utf-8").startswith("# newer\n")
    assert (project / "README.md").read_text(encoding="utf-8").splitlines()[0].endswith(" of ours")
    # What went had no edits, so there is nothing to say about it.
    assert [name for name in DROPPED if (project / name).exists()] == []


def test_conflicts_and_lost_edits_are_listed_and_can_be_undone(project: Path) -> None:
    hooks = ".pre-commit-config.yaml"
    write(project, {hooks: "# own\n" + (project / hooks).read_text(encoding="utf-8")})
    change(project, DROPPED[0], "\n", "\nOur own words.\n")
    commit(project)
    result = session(project)
    assert result.returncode == 1
    said = result.stderr.splitlines()
    conflict = next(i for i, line in enumerate(said) if "Both versions stand" in line)
    assert said[conflict + 1] == f"  {hooks}"
    gone = next(i for i, line in enumerate(said) if "git checkout HEAD -- FILE" in line)
    assert said[gone + 1] == f"  {DROPPED[0]}"
    assert DROPPED[1] not in result.stderr

    undo = next(line.strip() for line in said if "git stash" in line)
    subprocess.run(undo, cwd=project, shell=True, check=True, capture_output=True)
    assert git(project, "status", "--porcelain") == ""
    assert "Our own words" in (project / DROPPED[0]).read_text(encoding="utf-8")


def test_rejected_hunks_are_listed(project: Path) -> None:
    hooks = ".pre-commit-config.yaml"
    write(project, {hooks: "# own\n" + (project / hooks).read_text(encoding="utf-8")})
    commit(project)
    result = session(project, "--conflict", "rej")
    assert result.returncode == 1
    assert f"  {hooks}.rej" in result.stderr.splitlines()


def test_an_answer_can_be_changed(project: Path) -> None:
    result = session(project, "--vcs-ref", ":current:", "--data", "license=Apache-2.0")
    assert result.returncode == 0, result.stderr
    assert "Apache License" in (project / "LICENSE").read_text(encoding="utf-8")
    assert (project / DROPPED[1]).is_file()


@pytest.mark.parametrize(
    ("found", "changed", "sentence"),
    [
        (r"^.*\Z", "", f"{ANSWERS} is missing"),
        (r"^_commit: .*\n", "", f"{ANSWERS} names no version (_commit)"),
        (r"^_src_path: .*$", "_src_path: /moved/away", "not at /moved/away any more"),
    ],
)
def test_a_lost_origin_is_said(project: Path, found: str, changed: str, sentence: str) -> None:
    text = (project / ANSWERS).read_text(encoding="utf-8")
    edited, times = re.subn(found, changed, text, count=1, flags=re.M if "_" in found else re.S)
    assert times == 1
    write(project, {ANSWERS: edited})
    if not edited:
        (project / ANSWERS).unlink()
    commit(project)
    result = session(project)
    assert result.returncode == 1
    assert sum(sentence in line for line in result.stderr.splitlines()) == 1
    assert "Traceback" not in result.stderr
    assert git(project, "status", "--porcelain") == ""


def test_an_update_from_a_hook_is_of_this_folder(project: Path, template: Path) -> None:
    """Git tells its hooks which repository they run for, and each git below obeys."""
    head = git(template, "rev-parse", "HEAD")
    result = session(project, GIT_DIR=str(template / ".git"), GIT_WORK_TREE=str(template))
    assert result.returncode == 0, result.stderr
    assert (project / ".pre-commit-config.yaml").read_text(encoding="utf-8").startswith("# newer\n")
    assert git(template, "rev-parse", "HEAD") == head
    assert git(template, "status", "--porcelain") == ""


def test_without_git_it_says_what_to_install(project: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    result = session(project, PATH=str(tmp_path / "bin"))
    assert result.returncode == 1
    assert "git is not on PATH" in result.stderr


@pytest.mark.parametrize("state", ["changed", "untracked", "untracked unseen", "no git"])
def test_what_could_not_be_undone_is_refused(project: Path, state: str) -> None:
    if state == "changed":
        change(project, "README.md", "\n", "\nmine\n")
    elif state.startswith("untracked"):
        write(project, {"mine.txt": "mine\n"})
        if state.endswith("unseen"):  # as some set it, for speed
            git(project, "config", "status.showUntrackedFiles", "no")
    else:
        (project / ".git").rename(project.parent / "unused")
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    result = session(project)
    assert result.returncode == 1
    sentence = "Not under git" if state == "no git" else "Commit or stash first"
    assert sum(sentence in line for line in result.stderr.splitlines()) == 1
    after = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    new = {path.relative_to(project).parts[0] for path in after.keys() - before.keys()}
    assert new <= {".nox", ".git", "__pycache__"}
    assert {path: after[path] for path in before if ".git" not in path.parts} == {
        path: text for path, text in before.items() if ".git" not in path.parts
    }

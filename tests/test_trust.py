"""The real command line copies and updates without `--trust`, from a git repository with tags."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, git
from projects import commit

OLD, NEW = "v0.0.1", "v0.0.2"
NEW_LINE = "# a line of the newer template\n"
OWN_LINE = "# a line of the user\n"
# A file of every project that holds no answers, so that one line more is all an update changes.
CHANGED = ".pre-commit-config.yaml"


def run(*args: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "copier", *map(str, args)]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


@pytest.fixture
def repository(snapshot: Path, tmp_path: Path) -> Path:
    """The template with two releases; the newer one adds a line to a file."""
    repository = tmp_path / "template"
    shutil.copytree(snapshot, repository)
    git(repository, "init", "--quiet")
    commit(repository, OLD)
    changed = repository / "template" / "{{common}}" / CHANGED
    changed.write_text(NEW_LINE + changed.read_text("utf-8"), encoding="utf-8")
    commit(repository, NEW)
    return repository


def answers_of(project: Path) -> dict[str, str]:
    return yaml.safe_load((project / ".copier-answers.yml").read_text("utf-8"))


def test_copy_and_update_need_no_trust(repository: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    answer = "author_name=Zoë 😀"
    copied = run("copy", "--defaults", "-r", OLD, "-d", answer, repository, project, cwd=tmp_path)
    assert copied.returncode == 0, copied.stderr
    install, train = "uv sync --compile-bytecode", "uv run scripts/train.py --run-dir runs/first"
    for command in (f"cd {project}", install, train):
        assert command in [line.strip() for line in copied.stderr.splitlines()]
    assert "`uv run nox -s update` does the rest" in copied.stderr

    answers = answers_of(project)
    assert answers["_src_path"] == str(repository)
    assert answers["_commit"] == OLD
    assert answers["author_name"] == "Zoë 😀"
    assert not answers.keys() & {"common", "mlp", "distribution_name"}

    # The user's own year, edit and file: an update keeps all three.
    for name in (".copier-answers.yml", "LICENSE"):
        file = project / name
        file.write_text(file.read_text("utf-8").replace(answers["year"], "1999"), "utf-8")
    with (project / CHANGED).open("a", encoding="utf-8") as opened:
        opened.write(OWN_LINE)
    (project / "own.txt").write_text("mine\n", encoding="utf-8")
    git(project, "init", "--quiet")
    commit(project)

    updated = run("update", "--defaults", cwd=project)
    assert updated.returncode == 0, updated.stderr
    assert "git status" in updated.stderr
    assert answers_of(project) == answers | {"_commit": NEW, "year": "1999"}
    assert "1999" in (project / "LICENSE").read_text("utf-8")
    text = (project / CHANGED).read_text("utf-8")
    assert text.startswith(NEW_LINE)
    assert text.endswith(OWN_LINE)
    assert (project / "own.txt").read_text("utf-8") == "mine\n"
    assert sorted(git(project, "status", "--porcelain").split()) == sorted(
        ["M", ".copier-answers.yml", "M", CHANGED]
    )


def test_message_quotes_a_folder_with_a_blank(repository: Path, tmp_path: Path) -> None:
    copied = run("copy", "--defaults", repository, "Über project", cwd=tmp_path)
    assert copied.returncode == 0, copied.stderr
    assert "cd 'Über project'" in [line.strip() for line in copied.stderr.splitlines()]


def test_a_task_would_be_noticed(repository: Path, tmp_path: Path) -> None:
    """What this file promises can break: one task is enough for copier to ask for trust."""
    with (repository / "copier.yml").open("a", encoding="utf-8") as opened:
        opened.write('_tasks: ["true"]\n')
    commit(repository)
    copied = run("copy", "--defaults", "-r", "HEAD", repository, "project", cwd=tmp_path)
    assert copied.returncode == 4
    assert not (tmp_path / "project").exists()


def test_no_setting_needs_trust() -> None:
    config = yaml.safe_load((ROOT / "copier.yml").read_text("utf-8"))
    assert not config.keys() & {"_tasks", "_migrations", "_jinja_extensions", "_external_data"}

"""A project is made wherever its user is: odd folders, no git, no terminal, no network."""

import os
import subprocess
import sys
from pathlib import Path

import checks
import pytest
from conftest import git
from projects import commit, write

# What a connection would go through: a port at which nothing listens.
NO_NETWORK = dict.fromkeys(["http_proxy", "https_proxy", "all_proxy"], "http://127.0.0.1:9")


def copy(snapshot: Path, target: str, cwd: Path, **environment: str) -> str:
    """Run the real command line without a terminal; returns what it said."""
    result = subprocess.run(
        [sys.executable, "-m", "copier", "copy", "--defaults", str(snapshot), target],
        cwd=cwd,
        env=os.environ | NO_NETWORK | environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert result.returncode == 0, result.stderr
    return result.stderr


@pytest.mark.parametrize(
    "target", ["with blanks/a b", "Prüfung/深度", 'it\'s "quoted"', "$HOME `x`", "a/b/c/d", "-dash"]
)
def test_folder_may_have_any_name(snapshot: Path, tmp_path: Path, target: str) -> None:
    said = copy(snapshot, f"./{target}", tmp_path)
    # What it says to type next works in a shell.
    line = next(line.strip() for line in said.splitlines() if line.strip().startswith("cd "))
    where = subprocess.run(
        ["sh", "-c", f"{line} && pwd -P"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert Path(where.stdout.strip()) == (tmp_path / target).resolve()
    assert "pyproject.toml" in checks.relative(tmp_path / target)
    assert list(checks.unreadable(tmp_path / target)) == []
    # It was copied from a plain folder, whose version no one can know.
    assert "cannot be updated" in said
    assert "nox -s update" not in said


def test_folder_may_be_part_of_a_larger_repository(snapshot: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    write(tmp_path, {"README.md": "# All of ours\n", ".gitignore": "*.log\n"})
    commit(tmp_path)
    copy(snapshot, "parts/one", tmp_path)
    assert git(tmp_path, "status", "--porcelain", "--untracked-files=normal") == "?? parts/\n"
    git(tmp_path, "add", "--all")
    listed = git(tmp_path, "ls-files", "parts/one").splitlines()
    assert {name.removeprefix("parts/one/") for name in listed} == checks.relative(
        tmp_path / "parts" / "one"
    )


def test_git_is_not_needed(snapshot: Path, tmp_path: Path) -> None:
    copy(snapshot, "project", tmp_path, PATH=str(tmp_path))
    assert "pyproject.toml" in checks.relative(tmp_path / "project")


def test_without_a_terminal_questions_are_refused_and_nothing_is_left(
    snapshot: Path, tmp_path: Path
) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "copier", "copy", str(snapshot), "project"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert result.returncode == 1
    assert "--defaults" in result.stderr
    assert list(tmp_path.iterdir()) == []

"""A release is tagged and recorded after all checks, and after a refusal nothing has changed."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import git
from projects import commit, write
from release import next_versions, unreleased_entry
from releases import releases, stage_work_tree


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The work tree as the main branch of a repository in which nothing was released yet."""
    repository = tmp_path / "template"
    git(tmp_path, "init", "--quiet", repository.name)
    stage_work_tree(repository)
    write(repository, {"releases.toml": "[releases]\n", "CHANGELOG.md": CHANGELOG})
    commit(repository)
    return repository


CHANGELOG = "# Changelog\n\n## Unreleased\n\n- All of it.\n"


def release(repository: Path, version: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "tools/release.py", version]
    return subprocess.run(command, cwd=repository, capture_output=True, text=True)


def test_release_is_dated_tagged_and_recorded(repository: Path) -> None:
    result = release(repository, "0.1.0")
    assert result.returncode == 0, result.stderr
    assert "git push --follow-tags" in result.stdout
    assert git(repository, "cat-file", "-t", "v0.1.0").strip() == "tag"
    tagged = git(repository, "rev-parse", "v0.1.0^{commit}").strip()
    assert releases(repository) == {"0.1.0": tagged}
    released = git(repository, "show", "v0.1.0:CHANGELOG.md")
    assert unreleased_entry(released) == ""
    assert "\n## 0.1.0 (20" in released
    assert released.endswith("\n\n- All of it.\n")
    assert git(repository, "status", "--porcelain") == ""

    # The next one needs something to say, and then goes on from there.
    assert "says nothing" in release(repository, "0.2.0").stderr
    text = (repository / "CHANGELOG.md").read_text(encoding="utf-8")
    text = text.replace("## Unreleased\n", "## Unreleased\n\n- More.\n")
    write(repository, {"CHANGELOG.md": text})
    commit(repository)
    assert release(repository, "0.2.0").returncode == 0
    assert list(releases(repository)) == ["0.1.0", "0.2.0"]


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("version", "0.2.0 is not the next version: write 0.1.0"),
        ("form", "write the version as X.Y.Z"),
        ("branch", "releases are made on main, and this is other"),
        ("dirty", "uncommitted changes"),
        ("tag", "the tag v0.1.0 exists already"),
    ],
)
def test_refused_release_changes_nothing(repository: Path, fault: str, sentence: str) -> None:
    version = {"version": "0.2.0", "form": "v0.1.0"}.get(fault, "0.1.0")
    if fault == "branch":
        git(repository, "switch", "--quiet", "--create", "other")
    if fault == "dirty":
        write(repository, {"own.txt": "mine\n"})
    if fault == "tag":
        git(repository, "tag", "v0.1.0")
    before = git(repository, "log", "--all", "--format=%H %D")
    result = release(repository, version)
    assert result.returncode != 0
    assert sentence in result.stderr
    assert git(repository, "log", "--all", "--format=%H %D") == before


def test_next_versions() -> None:
    assert next_versions([]) == ["0.1.0"]
    assert next_versions(["0.1.0", "0.1.9"]) == ["0.1.10", "0.2.0", "1.0.0"]

"""Updates start from what was released; only a shallow clone may leave that out, and says so."""

from pathlib import Path

import pytest
import releases
import updated_project
from conftest import Render, git
from projects import commit, write


def repository(folder: Path) -> tuple[Path, str]:
    """A repository of two commits, and the name of the first."""
    git(folder.parent, "init", "--quiet", folder.name)
    write(folder, {"a.txt": "1\n"})
    commit(folder)
    first = git(folder, "rev-parse", "HEAD").strip()
    write(folder, {"a.txt": "2\n"})
    commit(folder)
    return folder, first


def released(monkeypatch: pytest.MonkeyPatch, root: Path, name: str) -> None:
    monkeypatch.setattr(releases, "ROOT", root)
    monkeypatch.setattr(releases, "releases", lambda: {"1.2.3": name})


def test_a_release_is_tagged_at_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, first = repository(tmp_path / "whole")
    released(monkeypatch, whole, first)
    assert releases.history(tmp_path / "clone") == ({"v1.2.3": first}, "")
    assert git(tmp_path / "clone", "rev-parse", "v1.2.3^{commit}").strip() == first


def test_a_shallow_clone_says_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, first = repository(tmp_path / "whole")
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{whole}", "shallow")
    released(monkeypatch, tmp_path / "shallow", first)
    tags, missing = releases.history(tmp_path / "clone")
    assert tags == {}
    assert missing == (
        f"commit {first} of v1.2.3 is not in this repository, which is a shallow clone; "
        "try git fetch --unshallow"
    )


def test_a_whole_clone_without_a_released_commit_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, _ = repository(tmp_path / "whole")
    released(monkeypatch, whole, "0" * 40)
    with pytest.raises(LookupError, match=r"0000 of v1\.2\.3 is not in this repository$"):
        releases.history(tmp_path / "clone")


def test_what_an_update_loses_is_found(render: Render) -> None:
    """So the check after the update of an installed project can fail."""
    project = render()
    git(project, "init", "--quiet")
    updated_project.edit(project)
    assert updated_project.lost(project) == []
    for name, old, new in updated_project.EDITS:
        text = (project / name).read_text(encoding="utf-8")
        write(project, {name: text.replace(new, old)})
    for name in updated_project.ADDED:
        (project / name).unlink()
    write(project, {updated_project.DELETED: "x\n", "README.md.rej": "x\n"})
    found = updated_project.lost(project)
    assert len(found) == len(updated_project.EDITS) + len(updated_project.ADDED) + 2
    for name in (*updated_project.ADDED, updated_project.DELETED, "README.md.rej"):
        assert sum(name in line for line in found) == 1

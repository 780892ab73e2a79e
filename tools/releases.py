"""Which versions were released, from which commits, and a repository in which they are tagged."""

import shutil
import subprocess
import tomllib
from pathlib import Path

from render import ROOT, snapshot


def releases(root: Path = ROOT) -> dict[str, str]:
    """Version to commit of releases.toml, oldest first."""
    return tomllib.loads((root / "releases.toml").read_text(encoding="utf-8"))["releases"]


def tagged_clone(folder: Path) -> dict[str, str]:
    """Clone this repository into `folder`, with a tag for each release, and return tag to commit.

    Tags of this repository are not used: a clone may lack them, and others may be newer. Before the
    first release, the newest commit stands in for one.

    Raises:
        LookupError: a released commit is not here.
    """
    tags = {f"v{version}": commit for version, commit in releases().items()} or {"v0.0.1": "HEAD"}
    _git(ROOT, "clone", "--quiet", "--no-tags", str(ROOT), str(folder))
    for tag, commit in tags.items():
        try:
            tag_commit(folder, tag, commit)
        except subprocess.CalledProcessError as error:
            raise LookupError(f"commit {commit} of {tag} is not in this repository") from error
    return tags


def history(folder: Path) -> tuple[dict[str, str], str]:
    """As `tagged_clone`, and why there is none if this repository is a shallow clone.

    Returns:
        Tag to commit and "", or no tags and a sentence. In a whole clone a released commit that is
        missing is a fault, and raised.
    """
    try:
        return tagged_clone(folder), ""
    except LookupError as error:
        if _git(ROOT, "rev-parse", "--is-shallow-repository").strip() != "true":
            raise
        return {}, f"{error}, which is a shallow clone; try git fetch --unshallow"


def stage_work_tree(repository: Path) -> None:
    """Replace all files of `repository` by those of the work tree and stage them."""
    for path in repository.iterdir():
        if path.is_dir() and path.name != ".git":
            shutil.rmtree(path)
        elif path.is_file():
            path.unlink()
    snapshot(repository)
    _git(repository, "add", "--all")


def tag_commit(repository: Path, tag: str, commit: str = "HEAD") -> None:
    _git(repository, "tag", "--annotate", tag, "--message", tag, commit)


def _git(folder: Path, *args: str) -> str:
    return subprocess.run(
        ["git", *args], cwd=folder, check=True, capture_output=True, text=True
    ).stdout

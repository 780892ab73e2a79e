"""Release the commit that is checked out.

    python tools/release.py X.Y.Z

Dates the entry of CHANGELOG.md, commits it, tags that commit, and records it in releases.toml with
a second commit, because no commit can hold its own name. Nothing is pushed.
"""

import argparse
import datetime
import re
import subprocess
import sys
from pathlib import Path

from releases import ROOT, releases, tag_commit

UNRELEASED = "## Unreleased\n"


def next_versions(released: list[str]) -> list[str]:
    """What may come after the versions that were released, the smallest step first."""
    if not released:
        return ["0.1.0"]
    major, minor, patch = map(int, released[-1].split("."))
    return [f"{major}.{minor}.{patch + 1}", f"{major}.{minor + 1}.0", f"{major + 1}.0.0"]


def unreleased_entry(changelog: str) -> str:
    """What stands below the heading of what is not released yet, up to the next heading."""
    _, _, rest = changelog.partition(UNRELEASED)
    return rest.partition("\n## ")[0].strip()


def obstacle(root: Path, version: str) -> str | None:
    """Why `version` cannot be released now, in one sentence."""
    allowed = next_versions(list(releases(root)))
    branch = git(root, "branch", "--show-current").strip()
    if version not in allowed:
        return f"{version} is not the next version: write {' or '.join(allowed)}"
    if branch != "main":
        return f"releases are made on main, and this is {branch or 'no branch'}"
    if git(root, "status", "--porcelain"):
        return "the tree has uncommitted changes: commit them, and run plain nox again"
    if git(root, "tag", "--list", f"v{version}"):
        return f"the tag v{version} exists already, and tags never move"
    if not unreleased_entry((root / "CHANGELOG.md").read_text(encoding="utf-8")):
        return f"CHANGELOG.md says nothing below {UNRELEASED.strip()!r}"
    return None


def release(root: Path, version: str, today: datetime.date) -> None:
    changelog = root / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    dated = f"{UNRELEASED}\n## {version} ({today.isoformat()})\n"
    changelog.write_text(text.replace(UNRELEASED, dated, 1), encoding="utf-8", newline="\n")
    git(root, "commit", "--quiet", "--all", "--message", f"Release {version}")
    tag_commit(root, f"v{version}")
    commit = git(root, "rev-parse", "HEAD").strip()
    with (root / "releases.toml").open("a", encoding="utf-8", newline="\n") as file:
        file.write(f'"{version}" = "{commit}"\n')
    git(root, "commit", "--quiet", "--all", "--message", f"Record the release of {version}")


def git(folder: Path, *args: str) -> str:
    command = ["git", *args]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("version")
    version = parser.parse_args().version
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        parser.error(f"write the version as X.Y.Z, not {version}")
    problem = obstacle(ROOT, version)
    if problem:
        print(f"Not released: {problem}.", file=sys.stderr)
        return 1
    release(ROOT, version, datetime.date.today())
    print(f"Released v{version}. Now: git push --follow-tags")
    return 0


if __name__ == "__main__":
    sys.exit(main())

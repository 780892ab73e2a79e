"""A project of the last release with its user's edits, updated to this work tree.

    python tools/updated_project.py FOLDER [key=value ...]

`nox -s update` installs the result and runs its checks. In a clone that lacks the released commit
because it is shallow, this says so and makes nothing.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from releases import history, stage_work_tree, tag_commit

NEWEST = "v999.0.0"

OWN_MODULE = '''"""A part of the user's own."""


def double(value: float) -> float:
    """Twice the value."""
    return 2.0 * value
'''
OWN_TEST = '''"""What the user added still works."""

from my_jax_project.core.own import double
from my_jax_project.presets import PRESETS


def test_own_module() -> None:
    assert double(1.5) == 3.0


def test_own_preset() -> None:
    assert PRESETS["own"].steps == 7
'''
# Path, what stands there, and what the user made of it.
EDITS = [
    ("README.md", "## Install\n", "## Install it\n"),
    (
        "pyproject.toml",
        "  # Add your own below.\n]",
        '  # Add your own below.\n  "einops>=0.8",\n]',
    ),
    (
        "src/my_jax_project/presets.py",
        "PRESETS: dict[str, TrainConfig] = {\n",
        "PRESETS: dict[str, TrainConfig] = {\n"
        '    "own": TrainConfig(run_dir=Path("runs/own"), steps=7),\n',
    ),
]
ADDED = {"src/my_jax_project/core/own.py": OWN_MODULE, "tests/test_own.py": OWN_TEST}
DELETED = "docs/configuration.md"


def edit(project: Path) -> None:
    """Do what a user does: change, add and delete."""
    for name, old, new in EDITS:
        text = (project / name).read_text(encoding="utf-8")
        if old not in text:
            raise ValueError(f"{name} of the release has no {old!r} to edit")
        (project / name).write_text(text.replace(old, new, 1), encoding="utf-8", newline="\n")
    for name, text in ADDED.items():
        (project / name).write_text(text, encoding="utf-8", newline="\n")
    (project / DELETED).unlink()


def lost(project: Path) -> list[str]:
    """What the update undid, and what it left for its user to settle."""
    problems = [
        f"{name}: {new!r} is gone"
        for name, _, new in EDITS
        if new not in (project / name).read_text(encoding="utf-8")
    ]
    problems += [
        f"{name} is changed or gone"
        for name, text in ADDED.items()
        if not (project / name).is_file() or (project / name).read_text(encoding="utf-8") != text
    ]
    problems += [f"{DELETED} is back"] if (project / DELETED).exists() else []
    problems += [f"{path} was rejected" for path in project.rglob("*.rej")]
    unmerged = git(project, "diff", "--name-only", "--diff-filter=U").splitlines()
    return problems + [f"{name} holds both versions" for name in unmerged]


def git(folder: Path, *args: str) -> str:
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    command = ["git", *identity, *args]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def copier(settings: Path, *args: str | Path) -> None:
    """The real command line, without the settings of the person at the keyboard."""
    command = [sys.executable, "-m", "copier", *map(str, args)]
    subprocess.run(command, env=os.environ | {"COPIER_SETTINGS_PATH": str(settings)}, check=True)


def commit(repository: Path) -> None:
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--allow-empty", "--message", "commit")


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("answers", nargs="*", metavar="key=value")
    args = parser.parse_args()
    answers = [part for answer in args.answers for part in ("--data", answer)]
    with tempfile.TemporaryDirectory() as scratch:
        template = Path(scratch, "template")
        tags, missing = history(template)
        if missing:
            print(f"No update was tried: {missing}")
            return 0
        stage_work_tree(template)
        commit(template)
        tag_commit(template, NEWEST)
        settings = Path(scratch, "settings.yml")
        settings.write_text("{}\n")
        options = ["--defaults", "--quiet", "--vcs-ref"]
        copier(settings, "copy", *options, list(tags)[-1], *answers, template, args.folder)
        git(args.folder, "init", "--quiet")
        edit(args.folder)
        commit(args.folder)
        copier(settings, "update", *options, NEWEST, args.folder)
    problems = lost(args.folder)
    print(*problems, sep="\n", end="\n" if problems else "")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())

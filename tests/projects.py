"""Projects under git, with edits in them, for the tests of updates."""

import difflib
import shutil
from pathlib import Path

import checks
import copier
from conftest import git

DELETED = "docs/configuration.md"
"""A file that the user deletes. The newer template of the tests changes it."""

ADDED = {"src/own/new.py": "own = 1\n", "configs/own.yaml": "steps: 3\n"}
IGNORED = {"runs/first/config.yaml": "steps: 5\n", ".DS_Store": "x\n"}
FENCE = "  # Add your own below.\n"
DEPENDENCY = '  "einops>=0.8",\n'
OWN_CONFIG = "\n\nclass OwnConfig:\n    own: int = 1\n"

# Copier writes it anew each time; it is no one's to edit.
ANSWERS = ".copier-answers.yml"


def commit(repository: Path, tag: str | None = None) -> None:
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "commit")
    if tag:
        git(repository, "tag", "--annotate", tag, "--message", tag)


def render_tag(template: Path, tag: str, folder: Path, **answers: str) -> Path:
    copier.run_copy(
        str(template), folder, answers, vcs_ref=tag, defaults=True, quiet=True, unsafe=False
    )
    return folder


def update(project: Path, tag: str | copier.VcsRef, **answers: str) -> None:
    """What `copier update --defaults` does, in process and without trust."""
    copier.run_update(
        project, answers, vcs_ref=tag, defaults=True, overwrite=True, quiet=True, unsafe=False
    )


def start(render: Path, project: Path) -> Path:
    """A project under git with the files of `render`."""
    shutil.copytree(render, project)
    git(project, "init", "--quiet")
    commit(project)
    return project


def texts(folder: Path) -> dict[str, str]:
    names = sorted(checks.relative(folder))
    return {name: (folder / name).read_text(encoding="utf-8") for name in names}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def edited(name: str, old: str, new: str) -> tuple[str, str] | None:
    """Both texts with the same edits of a user, away from what differs between them.

    One line changes where three lines above and below are the same in both. Where the ends are the
    same, a file of options gets one more, and the dependencies one below their fence.
    """
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    longest = max(matcher.get_matching_blocks(), key=lambda block: block.size)
    if longest.size < 7:
        return None
    middle = longest.size // 2
    for lines, start in ((before, longest.a), (after, longest.b)):
        lines[start + middle] = f"{lines[start + middle].rstrip()}  # of the user\n"
    if name.endswith("configs.py") and old.endswith("".join(after[-4:])):
        before.append(OWN_CONFIG)
        after.append(OWN_CONFIG)
    if name == "pyproject.toml":
        for lines in (before, after):
            lines.insert(lines.index(FENCE) + 1, DEPENDENCY)
    return "".join(before), "".join(after)


def edit(project: Path, old: Path, new: Path) -> dict[str, str]:
    """Work in `project` as a user would, commit, and return what an update has to make of it.

    Args:
        project: has the files of `old`; is changed.
        old: the template's files before the update.
        new: the template's files after it.

    Returns:
        Each file that has to be there afterwards, with its text. Files that `old` has and `new` has
        not are edited as well, and have to go.
    """
    before, after = texts(old), texts(new)
    expected = dict(after)
    changes = {name: text + "# of the user\n" for name, text in before.items() if name not in after}
    for name in before.keys() & after.keys() - {ANSWERS, DELETED}:
        pair = edited(name, before[name], after[name])
        if pair:
            changes[name], expected[name] = pair
    write(project, changes | ADDED | IGNORED)
    (project / DELETED).unlink()
    del expected[DELETED]
    commit(project)
    return expected | ADDED | IGNORED

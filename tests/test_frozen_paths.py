"""No path of the last release is gone without a recipe, and docs/ownership.md names every one."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

import checks
import pytest
import yaml
from conftest import ROOT, git
from projects import render_tag
from questions import closed, rows
from release import unreleased_entry
from releases import history, stage_work_tree, tag_commit

OWNERSHIP = (ROOT / "docs" / "ownership.md").read_text(encoding="utf-8")
WORK_TREE = "v999.0.0"


def without_recipe(old: Iterable[str], new: Iterable[str], changelog: str) -> list[str]:
    """Paths of `old` that are not in `new` and that the changelog's open entry does not name."""
    named = re.findall("`(.+?)`", unreleased_entry(changelog))
    return sorted(set(old) - set(new) - set(named))


def owners(page: str) -> dict[str, str]:
    """Pattern of a path to the heading that it stands under."""
    sections = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    return {
        pattern: section.partition("\n")[0]
        for section in sections
        for cell in re.findall(r"^\| (`.*?`) \|", section, flags=re.MULTILINE)
        for pattern in re.findall("`(.+?)`", cell)
    }


@pytest.mark.update
def test_paths_of_the_last_release_are_still_there(tmp_path: Path) -> None:
    """Before the first release, the newest commit stands in for it."""
    template = tmp_path / "template"
    tags, missing = history(template)
    if missing:
        pytest.skip(missing)
    last = list(tags)[-1]
    questions = closed(yaml.safe_load(git(template, "show", f"{last}:copier.yml")))
    stage_work_tree(template)
    git(template, "commit", "--quiet", "--allow-empty", "--message", "work tree")
    tag_commit(template, WORK_TREE)
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for n, answers in enumerate(rows(questions)):
        answers |= {"package_name": "qx"}
        old, new = (
            checks.relative(render_tag(template, tag, tmp_path / f"{n}-{tag}", **answers))
            for tag in (last, WORK_TREE)
        )
        assert without_recipe(old, new, changelog) == [], answers


def test_a_path_that_is_gone_needs_a_recipe() -> None:
    old, new = {"a.py", "b/c.py", "d.py"}, {"a.py", "x.py"}
    changelog = (
        "## Unreleased\n\n- `d.py` is `x.py` now: move your edits.\n\n## 0.1.0\n\n- `b/c.py`\n"
    )
    assert without_recipe(old, new, changelog) == ["b/c.py"]


def test_each_rendered_path_has_one_owner_and_each_row_a_path() -> None:
    lists = sorted((ROOT / "tests" / "expected_paths").glob("*.txt"))
    paths = {line for path in lists for line in path.read_text(encoding="utf-8").splitlines()}
    patterns = owners(OWNERSHIP)
    assert len(set(patterns.values())) == 3
    # A name goes before a pattern, and no two patterns fit.
    found = {
        path: [path] if path in patterns else [p for p in patterns if fnmatchcase(path, p)]
        for path in paths
    }
    assert {path: names for path, names in found.items() if len(names) != 1} == {}
    assert patterns.keys() - {name for names in found.values() for name in names} == set()

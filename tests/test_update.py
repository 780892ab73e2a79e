"""An update keeps what its user did, from every release, and each answer can be changed later."""

import itertools
import re
from pathlib import Path

import copier
import pytest
import yaml
from conftest import ROOT, git
from projects import (
    ANSWERS,
    DELETED,
    DEPENDENCY,
    OWN_CONFIG,
    commit,
    edit,
    render_tag,
    start,
    texts,
    update,
    write,
)
from questions import closed, rows
from releases import history, releases, stage_work_tree, tag_commit

pytestmark = pytest.mark.update

CONFIG = yaml.safe_load((ROOT / "copier.yml").read_text(encoding="utf-8"))
MODELS = list(CONFIG["model"]["choices"].values())
TAGS = [f"v{version}" for version in releases()] or ["v0.0.1"]
NEWEST = "v999.0.0"

# What the newer template changes, so that an update always has something to do.
NEW_LINE = "# a line of the newer template\n"
NEW_FILE = "docs/new_page.md"
NO_LONGER_IGNORED = "/runs/\n"


def flips() -> list[tuple[dict, dict]]:
    """Answers before and after: the n-th other answer to all questions but the model, and each two
    models. Each is changed back as well."""
    options = {name: answers for name, answers in closed(CONFIG).items() if name != "model"}
    first, *others = rows(options)
    pairs = [({"model": a}, {"model": b}) for a, b in itertools.combinations(MODELS, 2)]
    return [(first, row) for row in others] + pairs


def plant(repository: Path) -> None:
    """Change a clone's template as a next version might."""
    common = repository / "template" / "{{common}}"
    for name in (".pre-commit-config.yaml", "noxfile.py", DELETED):
        text = (common / name).read_text(encoding="utf-8")
        (common / name).write_text(NEW_LINE + text, encoding="utf-8")
    (common / NEW_FILE).write_text("# New\n", encoding="utf-8")
    ignored = common / ".gitignore.jinja"
    text = ignored.read_text(encoding="utf-8")
    assert NO_LONGER_IGNORED in text
    ignored.write_text(text.replace(NO_LONGER_IGNORED, ""), encoding="utf-8")
    # The last dependency, right above those of the user.
    metadata = common / "pyproject.toml.jinja"
    text = metadata.read_text(encoding="utf-8")
    changed = re.sub(r'",\n(  # Add your own below)', r'.1",\n\1', text, count=1)
    assert changed != text
    metadata.write_text(changed, encoding="utf-8")


def commit_of(project: Path) -> str:
    """The version of the template that the project has."""
    return yaml.safe_load((project / ANSWERS).read_text(encoding="utf-8"))["_commit"]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone with the tags of all releases, and the work tree as a version after them."""
    repository = tmp_path_factory.mktemp("history") / "template"
    tags, missing = history(repository)
    if missing:
        pytest.skip(missing)
    assert list(tags) == TAGS
    stage_work_tree(repository)
    plant(repository)
    commit(repository)
    tag_commit(repository, NEWEST)
    return repository


@pytest.fixture(scope="module")
def rendered(template: Path, tmp_path_factory: pytest.TempPathFactory):
    """`rendered(tag, question=answer, ...)` is a fresh render; each is made once."""
    made: dict[tuple, Path] = {}

    def get(tag: str, **answers: str) -> Path:
        key = (tag, *sorted(answers.items()))
        if key not in made:
            folder = tmp_path_factory.mktemp("render") / "project"
            made[key] = render_tag(template, tag, folder, **answers)
        return made[key]

    return get


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("tag", TAGS)
def test_update_from_a_release_loses_nothing(
    rendered, tmp_path: Path, tag: str, model: str
) -> None:
    old, new = rendered(tag, model=model), rendered(NEWEST, model=model)
    project = start(old, tmp_path / "project")
    expected = edit(project, old, new)
    assert commit_of(project) == tag
    update(project, NEWEST)
    assert commit_of(project) == NEWEST
    found = texts(project)
    assert found == expected

    # What was compared did have edits, and the newer version something new.
    kept = [name for name, text in found.items() if "# of the user" in text]
    assert len(kept) > 0.7 * len(texts(old))
    assert DEPENDENCY in found["pyproject.toml"]
    assert sum(OWN_CONFIG in text for text in found.values()) >= 2
    assert found["noxfile.py"].startswith(NEW_LINE)
    assert NEW_FILE in found
    assert DELETED not in found

    # The same update once more changes no file.
    commit(project)
    update(project, NEWEST)
    assert git(project, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("first", "other"), flips(), ids=lambda answers: "-".join(map(str, answers.values()))
)
def test_answers_can_be_changed_and_changed_back(
    rendered, tmp_path: Path, first: dict, other: dict
) -> None:
    old, new = rendered(NEWEST, **first), rendered(NEWEST, **other)
    project = start(old, tmp_path / "project")
    expected = edit(project, old, new)
    update(project, copier.VcsRef.CURRENT, **other)
    assert texts(project) == expected
    answers = yaml.safe_load((project / ANSWERS).read_text(encoding="utf-8"))
    assert answers | other == answers

    commit(project)
    update(project, copier.VcsRef.CURRENT, **first)
    found, fresh, dropped = texts(project), texts(old), texts(old).keys() - texts(new).keys()
    assert found.keys() == (expected.keys() - texts(new).keys()) | (fresh.keys() - {DELETED})
    assert {name: found[name] for name in dropped} == {name: fresh[name] for name in dropped}


def test_a_conflict_would_be_seen(rendered, tmp_path: Path) -> None:
    """The comparison of these tests notices what they are there to exclude."""
    old, new = rendered(TAGS[-1]), rendered(NEWEST)
    project = start(old, tmp_path / "project")
    expected = edit(project, old, new)
    noxfile = project / "noxfile.py"
    write(project, {"noxfile.py": "# own first line\n" + noxfile.read_text(encoding="utf-8")})
    commit(project)
    update(project, NEWEST)
    assert texts(project) != expected
    assert "<<<<<<<" in noxfile.read_text(encoding="utf-8")


def test_project_in_a_folder_of_a_larger_repository(rendered, tmp_path: Path) -> None:
    old, new = rendered(TAGS[-1]), rendered(NEWEST)
    repository = tmp_path / "Über all"
    git(tmp_path, "init", "--quiet", repository.name)
    write(repository, {"README.md": "# All of ours\n"})
    project = repository / "my project"
    project.parent.mkdir(exist_ok=True)
    start(old, project)
    (project / ".git").rename(tmp_path / "unused")
    commit(repository)
    expected = edit(project, old, new)
    update(project, NEWEST)
    assert texts(project) == expected
    assert texts(repository)["README.md"] == "# All of ours\n"

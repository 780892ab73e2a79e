"""A stored answer that is no longer good stops the update; it never becomes the default unsaid."""

import shutil
from pathlib import Path

import copier
import pytest
import yaml
from conftest import ROOT, Render, git
from projects import ANSWERS, commit, render_tag, start, texts, update, write
from questions import asked
from releases import tag_commit

CONFIG = yaml.safe_load((ROOT / "copier.yml").read_text(encoding="utf-8"))
# Not good for any question, whatever its type.
BAD = "no longer\tgood"


@pytest.fixture(scope="module")
def snapshot(snapshot: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The questions and rules alone, with the answers file as all that is rendered."""
    smaller = tmp_path_factory.mktemp("smaller") / "template"
    shutil.copytree(snapshot, smaller)
    for folder in (smaller / "template").iterdir():
        if folder.is_dir():
            shutil.rmtree(folder)
    return smaller


@pytest.mark.parametrize("question", asked(CONFIG))
def test_each_question_keeps_to_what_was_answered(render: Render, question: str) -> None:
    project = render()
    answers = yaml.safe_load((project / ANSWERS).read_text(encoding="utf-8")) | {question: BAD}
    write(project, {ANSWERS: yaml.safe_dump(answers)})
    before = texts(project)
    with pytest.raises(ValueError, match=question):
        copier.run_recopy(project, defaults=True, overwrite=True, quiet=True)
    assert texts(project) == before
    # An answer given now settles it.
    good = yaml.safe_load((render() / ANSWERS).read_text(encoding="utf-8"))[question]
    copier.run_recopy(project, {question: good}, defaults=True, overwrite=True, quiet=True)
    assert yaml.safe_load((project / ANSWERS).read_text(encoding="utf-8"))[question] == good


def test_update_stops_at_a_choice_that_is_gone(tmp_path: Path) -> None:
    """The same through an update, in a template of two files."""
    template = tmp_path / "template"
    question = {"type": "str", "default": CONFIG["license"]["default"]}
    answers_file = "{{_copier_conf.answers_file}}.jinja"
    git(tmp_path, "init", "--quiet", "template")
    for tag, offered in (("v1.0.0", ["MIT", "old"]), ("v2.0.0", ["MIT"])):
        config = {"license": question | {"choices": offered}}
        write(template, {"copier.yml": yaml.safe_dump(config)})
        write(template, {answers_file: "{{ _copier_answers | to_nice_yaml }}"})
        commit(template)
        tag_commit(template, tag)
    project = start(
        render_tag(template, "v1.0.0", tmp_path / "render", license="old"), tmp_path / "project"
    )
    before = texts(project)
    with pytest.raises(ValueError, match=r"'license'.*\['MIT'\]"):
        update(project, "v2.0.0")
    assert texts(project) == before
    update(project, "v2.0.0", license="MIT")
    assert "license: MIT" in texts(project)[ANSWERS]

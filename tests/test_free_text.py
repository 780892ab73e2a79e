"""Free text comes back unchanged from every file that it reaches, whatever it is."""

import json
import re
import tempfile
import tomllib
from pathlib import Path

import copier
import fast_render
import pytest
import yaml
from answers import FUZZ, HOSTILE, answers_of, anything, free_text_only, one_line
from conftest import ROOT, Render, macro
from fast_render import FREE_TEXT
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from questions import closed


@pytest.fixture(scope="module")
def snapshot(snapshot: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return free_text_only(snapshot, tmp_path_factory.mktemp("smaller") / "template")


def shown_by(markdown: str) -> list[str]:
    """The text of each heading and paragraph, as a reader of the page sees it."""
    blocks = [token.children or [] for token in MarkdownIt("commonmark").parse(markdown)]
    return ["".join(part.content for part in parts) for parts in blocks if parts]


def check_came_back(project: Path, title: str, description: str, author: str) -> None:
    answers = answers_of(project)
    assert [answers[question] for question in FREE_TEXT] == [title, description, author]
    metadata = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert metadata["description"] == description
    assert metadata["authors"][0]["name"] == author
    heading, *body = shown_by((project / "README.md").read_text(encoding="utf-8"))
    assert heading == title
    assert description in body
    assert f" {author}\n" in (project / "LICENSE").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_comes_back(render: Render, text: str) -> None:
    check_came_back(render(package_name="x", **dict.fromkeys(FREE_TEXT, text)), text, text, text)


def test_free_text_never_reaches_python() -> None:
    """No quoting survives a formatter there; code reads it from the installed metadata."""
    for path in (ROOT / "template").rglob("*.py.jinja"):
        used = " ".join(re.findall(r"\{[{%](.*?)[%}]\}", path.read_text(encoding="utf-8")))
        assert not re.search("|".join(FREE_TEXT), used), path


def leaves(document: object) -> list[str]:
    """All strings in what a parser made of a file."""
    if isinstance(document, dict):
        return [leaf for pair in document.items() for part in pair for leaf in leaves(part)]
    if isinstance(document, list):
        return [leaf for part in document for leaf in leaves(part)]
    return [document] if isinstance(document, str) else []


PARSERS = {".toml": tomllib.loads, ".yml": yaml.safe_load, ".json": json.loads}


@settings(FUZZ, max_examples=10)
@given(texts=st.tuples(one_line, one_line, one_line))
def test_the_fast_render_is_that_of_copier(snapshot: Path, texts: tuple[str, str, str]) -> None:
    data = dict(zip(FREE_TEXT, texts, strict=True)) | {"package_name": "x", "year": "2000"}
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch, "project")
        copier.run_copy(str(snapshot), project, data, defaults=True, quiet=True)
        check_came_back(project, *texts)
        files = fast_render.free_text(**data)
        assert {"pyproject.toml", "README.md", "LICENSE", ".copier-answers.yml"} <= files.keys()
        for name, text in files.items():
            written = (project / name).read_text(encoding="utf-8")
            # Copier also stores where it rendered from.
            assert re.sub(r"^_src_path: .*\n", "", written, flags=re.MULTILINE) == text, name


@settings(FUZZ, max_examples=900)
@given(
    texts=st.tuples(one_line, one_line, one_line) | st.tuples(anything, anything, anything),
    license=st.sampled_from(closed(fast_render.CONFIG)["license"]),
)
def test_any_text_comes_back_or_is_refused(texts: tuple[str, str, str], license: str) -> None:
    """Through every file that free text reaches, with the parser of each."""
    refusals = [macro("check_text", text, 80) for text in texts]
    for text, sentence in zip(texts, refusals, strict=True):
        visible = text == text.strip() and 0 < len(text) <= 80 and text.isprintable()
        assert not (visible and sentence), text
        assert re.fullmatch("(It (is|has|begins) .*)?", sentence)
    if any(refusals):
        return
    data = dict(zip(FREE_TEXT, texts, strict=True)) | {"package_name": "x", "license": license}
    files = fast_render.free_text(**data)
    for name, text in files.items():
        if Path(name).suffix in PARSERS:
            assert set(texts) & set(leaves(PARSERS[Path(name).suffix](text))), name
    title, description, author = texts
    answers = yaml.safe_load(files[".copier-answers.yml"])
    assert [answers[question] for question in FREE_TEXT] == [title, description, author]
    metadata = tomllib.loads(files["pyproject.toml"])["project"]
    assert (metadata["description"], metadata["authors"][0]["name"]) == (description, author)
    heading, *body = shown_by(files["README.md"])
    assert heading == title
    assert description in body
    if license != "Proprietary":
        assert f" {author}\n" in files["LICENSE"]


@pytest.mark.parametrize("email", ["", "a@b.org", "first.last+tag@sub.example-site.museum"])
def test_email_comes_back(render: Render, email: str) -> None:
    project = render(author_email=email)
    author = tomllib.loads((project / "pyproject.toml").read_text())["project"]["authors"][0]
    assert author.get("email", "") == email


# Addresses that nearly keep the rule.
near = st.from_regex(r"\A[a-z+.]{1,9}@([a-z0-9-]{1,5}\.){1,3}[a-z]{1,4}\Z")


@settings(FUZZ, max_examples=300)
@given(email=st.emails() | anything | near)
def test_any_email_comes_back_or_is_refused(email: str) -> None:
    refused = macro("check_email", email)
    assert re.fullmatch(r"(It is no e-mail address of the form .*)?", refused)
    if not refused:
        metadata = tomllib.loads(fast_render.one("pyproject.toml", author_email=email))
        assert metadata["project"]["authors"][0].get("email", "") == email

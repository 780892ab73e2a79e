"""Good answers come back unchanged from every file; bad ones end the copy with a plain sentence."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import copier
import fast_render
import pytest
import yaml
from conftest import ROOT, Render, macro
from fast_render import FREE_TEXT
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from questions import closed

HOSTILE = [
    'Tony "Iron Man" Stark',
    r"back\slash \n \u0041 C:\new",
    "it's <b> & 'x' \"\"\" '''",
    "Zoë 😀 𠮷",
    "# no comment: [x] {y} | > - * & ! % @ `",
    "{{ 7 * 7 }} {% raw %} {# x #} ${{ github.ref }}",
    "`a` ``b``",
    "yes no null ~ 1.10",
    "1.10",
    "---",
    "عربي x",
    "a\u00a0b \u200f c",
    "-rf --help",
    "- item",
    "CON",
    "nul.txt",
    "null",
    "!!python/object x",
    "*anchor &anchor",
    "'",
    '"',
    "\\",
    '\\"',
    '"""',
    "'''",
    "$HOME `id` $(id) %PATH%",
    "<script>alert(1)</script>",
    "&amp; &lt;",
    "[x](y) ![z](w) <https://example.org>",
    "0x10 1e3 0o7 12:30:45 2001-01-01",
    "=cmd|' /C calc'!A0",
    "e\u0301 \u200b \u200d",
    "😀" * 80,
    "x" * 80,
    "y " * 39 + "y",
]

# What a person would call "not one line of visible text", each with its kind.
REFUSED = {
    "line feed": "\n",
    "carriage return": "\r",
    "tab": "\t",
    "null": "\x00",
    "escape": "\x1b",
    "delete": "\x7f",
    "C1 control": "\x85",
    "line separator": "\u2028",
    "paragraph separator": "\u2029",
    "direction override": "\u202e",
    "direction isolate": "\u2066",
    "byte order mark": "\ufeff",
    "no character": "\uffff",
    "half of a pair": "\udc80",
}

# The same strings in each run, and no search for a shorter one that fails: it renders for minutes.
FUZZ = settings(
    derandomize=True, database=None, deadline=None, phases=[Phase.explicit, Phase.generate]
)

one_line = st.text(
    st.characters(
        exclude_categories=["Cc", "Cs", "Zl", "Zp"],
        exclude_characters="\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\ufffe\uffff",
    ),
    min_size=1,
    max_size=60,
).filter(lambda text: text == text.strip())

# Whatever can be typed or pasted: any code point, and pieces that some format gives a meaning.
anything = st.one_of(
    one_line,
    st.text(max_size=90),
    st.lists(st.sampled_from([*HOSTILE, *REFUSED.values(), "a", " "]), max_size=3).map("".join),
)


@pytest.fixture(scope="module")
def snapshot(snapshot: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template with only the files that free text can reach, so that many renders are fast."""
    smaller = tmp_path_factory.mktemp("smaller") / "template"
    shutil.copytree(snapshot, smaller)
    for path in (smaller / "template").rglob("*"):
        if path.is_file() and (path.suffix != ".jinja" or path.name.endswith(".py.jinja")):
            path.unlink()
    return smaller


def answers_of(project: Path) -> dict[str, str]:
    return yaml.safe_load((project / ".copier-answers.yml").read_text(encoding="utf-8"))


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


@settings(FUZZ, max_examples=20)
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


@settings(FUZZ, max_examples=1500)
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


def refusal(render: Render, **answers: str) -> str:
    """The sentence with which an answer is refused."""
    with pytest.raises(ValueError, match=f"'{next(iter(answers))}'") as caught:
        render(**answers)
    return str(caught.value)


@pytest.mark.parametrize("character", REFUSED.values(), ids=REFUSED)
def test_invisible_characters_are_refused(render: Render, character: str) -> None:
    for question in FREE_TEXT:
        # At the end too: a pattern that ends in `$` lets one line break pass there.
        for text in (f"a{character}b", f"ab{character}"):
            assert "control character" in refusal(render, **{question: text})


@pytest.mark.parametrize("question", FREE_TEXT)
def test_text_that_no_one_means_is_refused(render: Render, question: str) -> None:
    assert "is empty" in refusal(render, **{question: ""})
    assert "is empty" in refusal(render, **{question: "  "})
    assert "ends with a blank" in refusal(render, **{question: "a "})
    assert "Shorten it" in refusal(render, **{question: "a" * 501})


@pytest.mark.parametrize(
    "email", ["me", "a@b", "a b@c.org", "a@b.org\n", "ü@b.org", "a@b..org", '"a"@b.org', ".a@b.org"]
)
def test_bad_email_is_refused(render: Render, email: str) -> None:
    assert "name@example.org" in refusal(render, author_email=email)


@pytest.mark.parametrize(
    ("question", "offered"),
    [("license", "Apache-2.0"), ("python_version", "3.12"), ("model", "mlp")],
)
def test_other_choices_are_refused(render: Render, question: str, offered: str) -> None:
    assert answers_of(render(**{question: offered}))[question] == offered
    message = refusal(render, **{question: "3.1"})
    assert "Invalid choice" in message
    assert offered in message


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        *[(name, "only a to z") for name in ("my-proj", "my pkg", "123pkg", "pürepy", "Upper")],
        *[(name, "only a to z") for name in ("_private", "ends_", "line\n", "", "a" * 41)],
        *[(name, "a keyword") for name in ("class", "match", "none")],
        *[(name, "standard library") for name in ("json", "distutils", "compression")],
        *[(name, "a library that") for name in ("jax", "optax", "grain", "scikit_learn")],
        *[(name, "a folder or file") for name in ("tests", "src", "runs")],
        *[(name, "Windows") for name in ("con", "lpt1")],
    ],
)
def test_bad_package_name_is_refused(render: Render, name: str, rule: str) -> None:
    assert rule in refusal(render, package_name=name)


@pytest.mark.parametrize("name", ["x", "a" * 40, "net2", "jaxon", "classes", "a__b"])
def test_package_name_near_a_rule_is_accepted(render: Render, name: str) -> None:
    assert answers_of(render(package_name=name))["package_name"] == name


@pytest.mark.parametrize(
    ("title", "package"),
    [
        ("my-proj", "my_proj"),
        ("My JAX project", "my_jax_project"),
        ("Deep (Nets)!", "deep_nets"),
        ("3D shapes", "project_3d_shapes"),
        ("JAX", "jax_project"),
        ("Class", "class_project"),
        ("深度 Net", "net"),
        ("a" * 80, "a" * 40),
    ],
)
def test_package_name_comes_from_the_title(render: Render, title: str, package: str) -> None:
    project = render(project_name=title)
    metadata = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert answers_of(project)["package_name"] == package
    assert metadata["name"] == package.replace("_", "-")


def test_title_without_a_latin_letter_needs_a_package_name(render: Render) -> None:
    assert "--data package_name=" in refusal(render, project_name="深度学习 2")
    project = render(project_name="深度学习 2", package_name="deep")
    assert answers_of(project)["project_name"] == "深度学习 2"


@settings(FUZZ, max_examples=200)
@given(title=one_line)
def test_no_title_leads_to_a_bad_package_name(title: str) -> None:
    """Copier checks the derived default before it asks: a bad one would be a dead end."""
    package = macro("derive_package_name", title)
    refused = macro("check_project_name", title, "")
    assert bool(package) != bool(refused)
    assert not package or macro("check_package_name", package) == ""


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (
            "package_name=class",
            "The name class is a keyword of Python, so no code could import it.",
        ),
        ("description=two\nlines", "Retype it as one line of plain text."),
        ("model=none", "'none' is not in ['mlp', 'cnn', 'transformer', 'diffusion']"),
    ],
)
def test_command_line_refuses_and_writes_nothing(
    snapshot: Path, tmp_path: Path, answer: str, sentence: str
) -> None:
    command = [sys.executable, "-m", "copier", "copy", "--defaults", "--data", answer]
    result = subprocess.run(
        [*command, str(snapshot), str(tmp_path / "out")], capture_output=True, text=True
    )
    assert result.returncode == 1
    assert sentence in result.stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []

"""Whole projects, rendered in milliseconds, without copier's other work.

Each file is rendered once for each combination of answers that it depends on. tests/test_render.py
sees to it that the files are, to the byte, what copier writes.
"""

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from conftest import ROOT
from jinja2 import FileSystemLoader, StrictUndefined, Template, meta
from jinja2.sandbox import SandboxedEnvironment
from questions import asked

FREE_TEXT = ["project_name", "description", "author_name"]
CONFIG = yaml.safe_load((ROOT / "copier.yml").read_text(encoding="utf-8"))
ANSWERS = ".copier-answers.yml"
# What git keeps out of a clone, and copier out of a project.
CACHES = ("__pycache__", ".ruff_cache", ".pytest_cache")


@cache
def environment() -> SandboxedEnvironment:
    """As copier sets it up with the settings of copier.yml."""
    return SandboxedEnvironment(
        loader=FileSystemLoader(ROOT),
        extensions=["jinja2_ansible_filters.AnsibleCoreFiltersExtension"],
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )


@cache
def sources() -> dict[str, frozenset[str]]:
    """Each file below `template/`, with the answers that it and what it includes depend on."""
    names = frozenset(name for name in CONFIG if not name.startswith("_"))
    included = frozenset().union(*map(_variables, (ROOT / "includes").rglob("*.*")))
    found = {}
    for path in sorted((ROOT / "template").rglob("*")):
        if path.is_file() and not set(path.parts) & set(CACHES):
            source = path.relative_to(ROOT).as_posix()
            used = _variables(path) if path.suffix == ".jinja" else frozenset()
            if path.suffix == ".jinja" and "{% include" in path.read_text(encoding="utf-8"):
                used |= included
            found[source] = used & (names | {"_copier_answers"})
    return found


def _variables(path: Path) -> frozenset[str]:
    text = path.read_text(encoding="utf-8")
    return frozenset(meta.find_undeclared_variables(environment().parse(text)))


@cache
def _plain(source: str) -> str:
    return (ROOT / source).read_text(encoding="utf-8")


_rendered: dict[tuple, str] = {}


def _render(source: str, used: frozenset[str], values: dict[str, Any]) -> str:
    if not source.endswith(".jinja"):
        return _plain(source)
    key = (source, *(str(values[name]) for name in sorted(used)))
    if key not in _rendered:
        _rendered[key] = environment().get_template(source).render(values)
    return _rendered[key]


@cache
def _compiled(text: str) -> Template:
    return environment().from_string(text)


def context(answers: dict[str, Any]) -> dict[str, Any]:
    """All answers: given, by default, and computed."""
    values = dict(answers)
    for name, details in CONFIG.items():
        if not name.startswith("_") and name not in answers:
            values[name] = _compiled(details["default"]).render(values)
    return values


def render(**answers: Any) -> dict[str, str]:
    """Path to text of each file of a project with these answers."""
    values = context(answers)
    values["_copier_answers"] = {name: values[name] for name in asked(CONFIG)}
    files: dict[str, str] = {}
    for source, used in sources().items():
        overlay, _, path = source.removeprefix("template/").partition("/")
        if not path:
            path = ANSWERS
        elif values[overlay.strip("{}")] != ".":
            continue
        path = path.replace("{{package_name}}", values["package_name"]).removesuffix(".jinja")
        assert path not in files, f"{path} is in two overlays of one project"
        files[path] = _render(source, used, values)
    return files


def free_text(**answers: Any) -> dict[str, str]:
    """Only those of the files that free text reaches, which are not kept for later."""
    values = context(answers)
    values["_copier_answers"] = {name: values[name] for name in asked(CONFIG)}
    reached = {"_copier_answers", *FREE_TEXT}
    files = {}
    for source, used in sources().items():
        overlay, _, path = source.removeprefix("template/").partition("/")
        if used & reached and (not path or values[overlay.strip("{}")] == "."):
            name = path.removesuffix(".jinja") or ANSWERS
            files[name] = environment().get_template(source).render(values)
    return files


def one(path: str, **answers: Any) -> str:
    """The text of one file that every project has, not kept for later."""
    source = f"template/{{{{common}}}}/{path}.jinja"
    return environment().get_template(source).render(context(answers))

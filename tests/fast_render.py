"""The files that free text reaches, rendered in milliseconds, without copier's other work.

tests/test_answers.py sees to it that they are, to the byte, what copier writes.
"""

import re
from functools import cache
from typing import Any

import yaml
from conftest import ROOT
from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.sandbox import SandboxedEnvironment
from questions import asked

FREE_TEXT = ["project_name", "description", "author_name"]
CONFIG = yaml.safe_load((ROOT / "copier.yml").read_text(encoding="utf-8"))
ANSWERS = ".copier-answers.yml"


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
def sources() -> dict[str, str]:
    """Path in `template/` to path in a project, of files that free text reaches."""
    found = {}
    words = "|".join([*FREE_TEXT, "_copier_answers", "licenses"])
    for path in sorted((ROOT / "template").rglob("*.jinja")):
        source = path.relative_to(ROOT).as_posix()
        if re.search(words, path.read_text(encoding="utf-8")):
            found[source] = source.removeprefix("template/").removesuffix(".jinja")
    return found


def context(answers: dict[str, Any]) -> dict[str, Any]:
    """All answers: given, by default, and computed."""
    values = dict(answers)
    for name, details in CONFIG.items():
        if not name.startswith("_") and name not in answers:
            text = environment().from_string(details["default"]).render(values)
            values[name] = text == "True" if details["type"] == "bool" else text
    return values


def render(**answers: Any) -> dict[str, str]:
    """Path to text of each of those files that a project with these answers has."""
    values = context(answers)
    values["_copier_answers"] = {name: values[name] for name in asked(CONFIG)}
    files = {}
    for source, target in sources().items():
        overlay, _, path = target.partition("/")
        name = ANSWERS if "answers_file" in target else path
        if name == ANSWERS or environment().from_string(overlay).render(values) == ".":
            files[name] = environment().get_template(source).render(values)
    return files

"""What must hold of any rendered project. Each check returns the faults it finds, one line each."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import yaml

ANSWERS = ".copier-answers.yml"

# What only the template may say. The answers file holds the questions' names by right.
TEMPLATE_WORDS = ["package_name", "project_name", "distribution_name", "author_name", "jinja"]


def files(project: Path) -> list[Path]:
    return sorted(
        path for path in project.rglob("*") if path.is_file() and ".git" not in path.parts
    )


def relative(project: Path) -> set[str]:
    return {path.relative_to(project).as_posix() for path in files(project)}


def leftovers(project: Path) -> Iterable[str]:
    """Jinja that was not rendered, and words of the template. `${{ }}` belongs to GitHub."""
    for path in files(project):
        if path.name == ANSWERS:
            continue
        text = f"{path.relative_to(project)}\n{path.read_text(encoding='utf-8')}"
        if ".github" in path.parts:
            text = re.sub(r"\$\{\{.*?\}\}", "", text)
        words = "|".join(TEMPLATE_WORDS)
        for found in re.findall(rf"\{{\{{|\{{%|\{{#|\b(?:{words})\b", text):
            yield f"{path}: {found}"


def unreadable(project: Path) -> Iterable[str]:
    """Files that their own parser refuses."""
    parsers = {
        ".py": lambda text: ast.parse(text, feature_version=(3, 11)),
        ".toml": tomllib.loads,
        ".yml": yaml.safe_load,
        ".yaml": yaml.safe_load,
        ".json": json.loads,
    }
    for path in files(project):
        try:
            parsers.get(path.suffix, str)(path.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError, yaml.YAMLError) as error:
            yield f"{path}: {error}"


def untidy(project: Path) -> Iterable[str]:
    """Line ends, blanks and blank lines that a template leaves behind; folders with no file."""
    for path in files(project):
        text = path.read_bytes().decode()
        if path.suffix == ".py" and not text:
            continue  # an empty __init__.py
        if "\r" in text:
            yield f"{path}: a carriage return"
        if not re.search(r"[^\n]\n\Z", text):
            yield f"{path}: does not end with one line break"
        if re.search(r"[ \t]\n", text):
            yield f"{path}: blanks at the end of a line"
        if re.search(r"\n\n\n\n", text):
            yield f"{path}: three blank lines"
    for path in project.rglob("*"):
        if path.is_dir() and ".git" not in path.parts and not any(path.iterdir()):
            yield f"{path}: an empty folder"


def lint(project: Path) -> Iterable[str]:
    """What ruff says with the project's own settings, whatever folder the project lies in."""
    for command in (["check", "--quiet"], ["format", "--check", "--quiet"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--no-cache", "--no-respect-gitignore", "."]
        result = subprocess.run(ruff, cwd=project, capture_output=True, text=True)
        if result.returncode:
            yield f"ruff {command[0]}: {result.stdout}{result.stderr}"


def absolute_imports(project: Path) -> Iterable[str]:
    """Files of the package that name it: inside, imports are relative, so that none needs Jinja."""
    (package,) = (path for path in (project / "src").iterdir() if path.is_dir())
    for path in files(package):
        if re.search(rf"\b{package.name}\b", path.read_text(encoding="utf-8")):
            yield f"{path}: {package.name}"


def expressions(project: Path) -> list[str]:
    """The `${{ ... }}` of all workflows, which GitHub evaluates and Jinja must not."""
    workflows = sorted((project / ".github" / "workflows").glob("*.yml"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in workflows)
    assert not re.search(r"\$(\s|\Z)", text), "a bare $ is what is left of a rendered expression"
    return sorted(set(re.findall(r"\$\{\{ (.*?) \}\}", text)))

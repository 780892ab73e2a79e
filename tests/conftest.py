"""Renders for the tests: in process, from a plain copy of the work tree, without trust."""

import os
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import copier
import pytest
import render as tool
from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.environment import TemplateModule
from jinja2.sandbox import SandboxedEnvironment

ROOT = tool.ROOT

Render = Callable[..., Path]


@pytest.fixture(scope="session", autouse=True)
def _nothing_from_the_user(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Neither copier's settings, nor git's, nor an author's name may decide what a test sees."""
    home = tmp_path_factory.mktemp("home")
    (home / "gitconfig").write_text(
        "[user]\nname = T\nemail = t@example.org\n[init]\ndefaultBranch = main\n"
    )
    (home / "settings.yml").write_text("{}\n")
    os.environ["COPIER_SETTINGS_PATH"] = str(home / "settings.yml")
    os.environ["COPIER_CACHE_DIR"] = str(home / "cache")
    os.environ["GIT_CONFIG_GLOBAL"] = str(home / "gitconfig")
    os.environ["GIT_CONFIG_SYSTEM"] = os.devnull


@pytest.fixture(scope="session")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template as the work tree has it, in a plain folder."""
    return tool.snapshot(tmp_path_factory.mktemp("snapshot"))


@pytest.fixture
def render(snapshot: Path, tmp_path: Path) -> Render:
    """`render(**answers)` renders into a new folder, without trust, and returns the folder."""

    def run(**answers: str) -> Path:
        folder = tmp_path / f"project{len(list(tmp_path.glob('project*')))}"
        copier.run_copy(
            str(snapshot), folder, data=answers, defaults=True, quiet=True, unsafe=False
        )
        return folder

    return run


def git(folder: Path, *args: str) -> str:
    return subprocess.run(
        ["git", *args], cwd=folder, check=True, capture_output=True, text=True
    ).stdout


@cache
def _macros() -> TemplateModule:
    environment = SandboxedEnvironment(
        loader=FileSystemLoader(ROOT),
        extensions=["jinja2_ansible_filters.AnsibleCoreFiltersExtension"],
        undefined=StrictUndefined,
    )
    return environment.get_template("includes/validators.jinja").module


def macro(name: str, *args: object) -> str:
    """What a macro of includes/validators.jinja writes, in an environment like copier's."""
    return str(getattr(_macros(), name)(*args)).strip()

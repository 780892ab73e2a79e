"""The list of names that no package may have is complete and current."""

import builtins
import keyword
import re
import sys
import tomllib

import reserved_names
from conftest import Render


def listed() -> set[str]:
    return set(re.findall(r"'(\w+)'", reserved_names.OUTPUT.read_text(encoding="utf-8")))


def test_list_is_what_the_tool_writes() -> None:
    assert reserved_names.OUTPUT.read_text(encoding="utf-8") == reserved_names.rendered()


def test_list_holds_the_modules_and_keywords_of_this_python() -> None:
    """The tool takes them from elsewhere, so that this comparison means something."""
    public = {name.lower() for name in sys.stdlib_module_names if not name.startswith("_")}
    assert public <= listed()
    assert {word.lower() for word in keyword.kwlist} <= listed()
    lower = {name for name in dir(builtins) if re.fullmatch("[a-z][a-z0-9_]*", name)}
    assert "print" in lower
    assert lower <= listed()


def test_list_holds_modules_that_only_some_pythons_have() -> None:
    assert {"asyncore", "imp", "cgi", "telnetlib", "compression", "annotationlib"} <= listed()


def test_list_holds_all_direct_dependencies(render: Render) -> None:
    metadata = tomllib.loads((render() / "pyproject.toml").read_text(encoding="utf-8"))
    groups = [metadata["project"]["dependencies"], *metadata["dependency-groups"].values()]
    names = {
        re.match(r"[\w.-]+", requirement)[0].lower().replace("-", "_")
        for group in groups
        for requirement in group
        if isinstance(requirement, str)
    }
    assert names
    assert names <= listed()


def test_list_holds_what_a_project_has_and_makes_at_its_top(render: Render) -> None:
    project = render()
    beside = [*project.iterdir(), *(project / "scripts").iterdir()]
    stems = {path.stem for path in beside if not path.name.startswith(".")}
    ignored = re.findall(r"^/(\w+)/$", (project / ".gitignore").read_text(), re.MULTILINE)
    assert "runs" in ignored
    assert set(ignored) <= listed()
    ours = {name for name in stems if re.fullmatch("[a-z][a-z0-9_]*", name)}
    assert {"src", "scripts", "tests"} <= ours
    assert ours - {"pyproject", "pyrightconfig", "ruff"} <= listed()


def test_installed_names_are_compared() -> None:
    installed = {
        "jax": ["jax"],
        "_private": ["jax"],
        "PIL": ["pillow"],
        "brand_new": ["Brand.New"],
        "own_package": ["own-package"],
    }
    assert reserved_names.unreserved(installed, own="own_package") == ["brand_new"]


def test_check_fails_on_an_old_list(tmp_path, monkeypatch, capsys) -> None:
    old = tmp_path / "reserved_names.jinja"
    old.write_text(reserved_names.rendered().replace("'jax', ", ""), encoding="utf-8")
    monkeypatch.setattr(reserved_names, "OUTPUT", old)
    monkeypatch.setattr(sys, "argv", ["reserved_names.py", "--check"])
    assert reserved_names.main() == 1
    assert "python tools/reserved_names.py" in capsys.readouterr().out

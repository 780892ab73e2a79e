"""A package's name can be imported and hides nothing, and a title leads to a good one."""

import builtins
import keyword
import re
import sys
import tomllib
from pathlib import Path

import fast_render
import pytest
from answers import FUZZ, answers_of, anything, free_text_only, one_line, refusal
from conftest import Render, macro
from hypothesis import given, settings
from hypothesis import strategies as st
from test_combinations import fault


@pytest.fixture(scope="module")
def snapshot(snapshot: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return free_text_only(snapshot, tmp_path_factory.mktemp("smaller") / "template")


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        *[(name, "only a to z") for name in ("my-proj", "my pkg", "123pkg", "pürepy", "Upper")],
        *[(name, "only a to z") for name in ("_private", "ends_", "line\n", "", "a" * 41)],
        *[(name, "a keyword") for name in ("class", "match", "none")],
        *[(name, "standard library") for name in ("json", "distutils", "compression")],
        *[(name, "a library that") for name in ("jax", "optax", "grain", "scikit_learn")],
        *[(name, "a folder or file") for name in ("tests", "src", "runs", "sweep", "sweeps")],
        *[(name, "Python itself defines") for name in ("print", "filter", "input")],
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
        ("Print", "print_project"),
        # The longest reserved name leaves no room for what is added.
        ("OpenTelemetry exporter HTTP transport", "opentelemetry_exporter_http_tran_project"),
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


TAKEN = [*keyword.kwlist, *sys.stdlib_module_names, *dir(builtins)]

# Names that nearly keep the rule, and whatever else is typed.
near = st.from_regex(r"\A[a-z_0-9][a-zA-Z0-9_]{0,44}[\n.-]?\Z")


@settings(FUZZ, max_examples=300)
@given(name=near | anything | st.sampled_from(TAKEN))
def test_any_name_can_be_imported_or_is_refused(name: str) -> None:
    refused = macro("check_package_name", name)
    good = re.fullmatch("[a-z][a-z0-9_]{0,38}[a-z0-9]|[a-z]", name)
    if not good or name in TAKEN:
        assert re.fullmatch("(A package name has|The name .* is) .*", refused)
    elif not refused:
        assert name.isidentifier()
        metadata = tomllib.loads(fast_render.one("pyproject.toml", package_name=name))
        assert metadata["project"]["name"].replace("-", "_") == re.sub("_+", "_", name)
        assert metadata["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == [f"src/{name}"]


@settings(FUZZ, max_examples=25)
@given(name=st.from_regex(r"\A[a-z][a-z0-9_]{0,38}[a-z0-9]\Z"))
def test_any_good_name_makes_a_whole_project(name: str) -> None:
    if not macro("check_package_name", name):
        files = fast_render.render(package_name=name)
        assert {path: found for path in files if (found := fault(path, files[path]))} == {}

"""Each version that a project names stands in one place, its pyproject.toml."""

import re
import tomllib

import fast_render
import yaml

PROJECTS = [
    fast_render.render(),
    fast_render.render(
        tracker="wandb", launcher="skypilot", devcontainer="yes", ci="gitlab", model="transformer"
    ),
    fast_render.render(tracker="tensorboard", launcher="slurm", model="diffusion"),
]


def bounds(pyproject: str) -> dict[str, list[str]]:
    """Library to what is asked of its version, wherever pyproject.toml names it."""
    metadata = tomllib.loads(pyproject)
    groups = [metadata["project"]["dependencies"], *metadata["dependency-groups"].values()]
    found: dict[str, list[str]] = {}
    for line in (line for group in groups for line in group if isinstance(line, str)):
        name, bound = re.fullmatch(r"([\w-]+)(.*)", line).groups()
        found.setdefault(name, []).append(bound)
    return found


def repeated(files: dict[str, str]) -> list[str]:
    """Versions of libraries and tools that another file gives."""
    names = "|".join(map(re.escape, bounds(files["pyproject.toml"])))
    pinned = re.compile(rf"\b({names})(?:\[\w+\])? ?(?:[=><~]=|[@:]) ?v?\d[\d.]*")
    return [
        f"{path}: {match[0]}"
        for path, text in files.items()
        if path not in ("pyproject.toml", fast_render.ANSWERS)
        for match in pinned.finditer(text)
    ]


def test_every_library_and_tool_has_one_lower_bound() -> None:
    for files in PROJECTS:
        found = bounds(files["pyproject.toml"])
        assert {"jax", "ruff", "basedpyright", "pytest", "nox", "uv"} <= found.keys()
        for name, asked in found.items():
            assert len(asked) == 1, name
            assert re.fullmatch(r">=\d[\d.]*", asked[0]), name


def test_no_other_file_names_a_version() -> None:
    assert [repeated(files) for files in PROJECTS] == [[], [], []]


def test_a_repeated_version_would_be_seen() -> None:
    files = PROJECTS[0]
    for name, line in ((".pre-commit-config.yaml", "uvx ruff@0.14"), ("README.md", "jax>=0.9")):
        changed = files | {name: f"{files[name]}{line}\n"}
        assert len(repeated(changed)) == 1


def test_hooks_take_no_tool_of_their_own() -> None:
    """A repository with a `rev` would be a second ruff beside that of pyproject.toml."""
    hooks = yaml.safe_load(PROJECTS[0][".pre-commit-config.yaml"])
    assert [repository["repo"] for repository in hooks["repos"]] == ["local"]


def test_the_noxfile_asks_for_the_nox_of_the_dev_group() -> None:
    (asked,) = bounds(PROJECTS[0]["pyproject.toml"])["nox"]
    assert f'nox.needs_version = "{asked}"' in PROJECTS[0]["noxfile.py"]

"""Checks of the template. Each session keeps one promise: `nox --list`.

Plain `nox` runs what to run before a push.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nox
from nox.virtualenv import find_uv

# Together they have each tracker and launcher that brings code of its own.
OPTIONS = {
    "tensorboard-slurm": ["tracker=tensorboard", "launcher=slurm", "ci=gitlab"],
    "wandb-skypilot": ["tracker=wandb", "launcher=skypilot", "devcontainer=yes", "ci=none"],
}

MODELS = ["mlp", "cnn", "transformer", "diffusion"]

ROOT = Path(__file__).parent
GROUPS = nox.project.load_toml(ROOT / "pyproject.toml")

nox.needs_version = ">=2025.5.1"
nox.options.sessions = ["lint", "tests", "update", "options", "variants"]
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = "CI" in os.environ

# Where it is set, Python compiles JAX again in each process, which doubles each import.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The stand-ins of pyenv answer to names like python3.13, but fail for versions that are not active,
# and uv stops at the first that fails. The interpreters themselves go before them.
if "PYENV_ROOT" in os.environ:
    found = sorted(Path(os.environ["PYENV_ROOT"]).glob("versions/3.1[1-9]*/bin"))
    os.environ["PATH"] = os.pathsep.join([*map(str, found), os.environ["PATH"]])

# A project is installed into its own .venv by its own metadata, with the Python that runs nox,
# whatever environment is active around it.
PROJECT_ENV = {
    "VIRTUAL_ENV": None,
    "CONDA_PREFIX": None,
    "PYTHONPATH": None,
    "UV_PROJECT_ENVIRONMENT": None,
    "UV_PYTHON": sys.executable,
    "UV_PYTHON_DOWNLOADS": "never",
}


def install(session: nox.Session, group: str) -> None:
    session.install(*nox.project.dependency_groups(GROUPS, group))


def uv(session: nox.Session, *args: str) -> None:
    """Run uv in the current folder, also where it came with `nox[uv]` and is not on PATH."""
    available, path, _ = find_uv()
    if not available:
        session.error(
            "uv is missing: install it into the environment of nox, pip install 'nox[uv]'"
        )
    session.run(path, *args, env=PROJECT_ENV, external=True)


def pytest(session: nox.Session, marked: str) -> None:
    arguments = session.posargs or ["--numprocesses", "2"]
    session.run("pytest", "-m", marked, *arguments, env={"PYTHONPATH": None})


def render(session: nox.Session, folder: Path, *answers: str) -> None:
    """Render the work tree as it is now, uncommitted changes included."""
    install(session, "render")
    session.run("python", str(ROOT / "tools" / "render.py"), str(folder), *answers)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder outside .nox, below which ruff obeys nox's .gitignore and passes without a look."""
    with tempfile.TemporaryDirectory(prefix="jax-template-") as folder:
        yield Path(folder).resolve()


def refuse(message: str) -> None:
    print(f"nox -s demo: {message}", file=sys.stderr)
    sys.exit(2)


def demo_target(arguments: list[str]) -> tuple[Path, list[str]]:
    """Folder and answers of `[FOLDER or MODEL] [key=value ...]`; the folder is empty or gone."""
    answers = [a for a in arguments if "=" in a]
    names = [a for a in arguments if "=" not in a]
    if len(names) > 1:
        refuse(f"give one FOLDER or MODEL, not {len(names)}: {' '.join(names)}")
    if names and names[0] not in MODELS:
        folder = Path(names[0]).expanduser().absolute()
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            refuse(f"{folder} exists and is not an empty folder. Name another, or remove it first.")
        return folder, answers

    folder = ROOT / "build" / "-".join(["demo", *names])
    if folder.exists():
        if not (folder / ".copier-answers.yml").is_file():
            refuse(f"{folder} exists and is not an earlier demo. Move it away first.")
        shutil.rmtree(folder)
    return folder, [*(f"model={name}" for name in names), *answers]


@nox.session
def demo(session: nox.Session) -> None:
    """A fresh project trains, evaluates and samples; -- [FOLDER or MODEL] [key=value ...]."""
    folder, answers = demo_target(session.posargs)
    render(session, folder, *answers)
    run_dir = Path("runs", "demo")
    with session.chdir(folder):
        uv(session, "sync", "--no-dev")
        for script in ("train", "eval", "sample"):
            uv(session, "run", "--no-sync", f"scripts/{script}.py", "--run-dir", str(run_dir))
    figures = sorted((folder / run_dir / "figures").glob("*.png"))
    print(
        f"\nThe project is in {folder}",
        f"its run in         {folder / run_dir}",
        *(f"  picture          {figure}" for figure in figures),
        sep="\n",
    )


@nox.session
def lint(session: nox.Session) -> None:
    """Formatting and lint of the template, and its list of reserved names is current."""
    install(session, "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("python", "tools/reserved_names.py", "--check")


@nox.session
def tests(session: nox.Session) -> None:
    """Answers are checked, renders are whole and readable, no trust is asked; -- [pytest args]."""
    install(session, "tests")
    pytest(session, "not update")


@nox.session
def update(session: nox.Session) -> None:
    """Updates from each release keep a user's edits, and answers can change; -- [pytest args]."""
    install(session, "tests")
    pytest(session, "update")


@nox.session
@nox.parametrize("row", [nox.param(row, id=row) for row in OPTIONS])
def options(session: nox.Session, row: str) -> None:
    """A project with these options installs, and passes its checks and the tests of the options."""
    with scratch_folder() as folder:
        render(session, folder, *OPTIONS[row])
        with session.chdir(folder):
            uv(session, "sync")
            for check in (
                ["ruff", "check", "."],
                ["basedpyright"],
                ["python", str(ROOT / "tools" / "reserved_names.py"), "--installed"],
                ["pytest", "tests/test_tracker.py", "tests/test_launch.py"],
                ["pytest", "tests/test_metrics_log.py", "tests/test_architecture.py"],
                ["python", "scripts/train.py", "--preset", "debug", "--run-dir", "runs/try"],
            ):
                uv(session, "run", "--no-sync", *check)


@nox.session
@nox.parametrize("model", [nox.param(model, id=model) for model in MODELS])
def variants(session: nox.Session, model: str) -> None:
    """A project of this model installs from its own metadata and passes its own checks."""
    with scratch_folder() as folder:
        render(session, folder, f"model={model}")
        with session.chdir(folder):
            session.run("git", "init", "--quiet", external=True)
            session.run("git", "add", "--all", external=True)
            uv(session, "sync")
            for check in (
                ["ruff", "check", "."],
                ["ruff", "format", "--check", "."],
                ["pre-commit", "run", "--all-files"],
                ["basedpyright"],
                ["python", str(ROOT / "tools" / "reserved_names.py"), "--installed"],
                ["pytest", "--numprocesses", "2"],
            ):
                uv(session, "run", "--no-sync", *check)


def install_torch(session: nox.Session) -> None:
    """PyTorch for CPUs, where it can be had: the usual one for Linux brings gigabytes for GPUs.

    Without it the benchmark says that it was not measured.
    """
    may_fail = [0, 1, 2]
    # uv does not read the settings of pip: a folder of wheels that pip knows is shown to it too.
    for folder in os.environ.get("PIP_FIND_LINKS", "").split():
        session.install("torch==2.13.0+cpu", "--find-links", folder, success_codes=may_fail)
    session.install("torch==2.13.0", "--torch-backend", "cpu", success_codes=may_fail)


@nox.session
def bench(session: nox.Session) -> None:
    """The project's loop and its peers side by side: tables, goals met or missed; -- [--quick]."""
    with scratch_folder() as folder:
        models = [model for model in MODELS if model != "diffusion"]
        for model in models:
            render(session, folder / model, f"model={model}", f"package_name=bench_{model}")
        wanted = [str(folder / model / "pyproject.toml") for model in models]
        peers = str(ROOT / "benchmarks" / "requirements.txt")
        session.install(*(part for path in [*wanted, peers] for part in ("-r", path)))
        install_torch(session)
        speed = str(ROOT / "benchmarks" / "speed.py")
        session.run("python", speed, str(folder), *session.posargs)


@nox.session
def release(session: nox.Session) -> None:
    """Dates the changelog, tags and records a version, after checks; -- X.Y.Z."""
    session.run("python", str(ROOT / "tools" / "release.py"), *session.posargs)

"""Checks of the template. Each session keeps one promise: `nox --list`.

Plain `nox` runs what to run before a push.
"""

import difflib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import nox
from nox.virtualenv import find_uv

PYTHONS = ["3.11", "3.12", "3.13"]
MODELS = ["mlp", "cnn", "transformer", "diffusion"]
# Slow tests of a project depend little on its model: plain `nox` runs them for one.
LEFT_OUT = ["mlp", "cnn", "diffusion"]

# Each two answers to two questions are in one row, and each licence, which is text alone, in some
# row. The first two, which plain `nox` runs, have all trackers and launchers that bring code.
QUESTIONS = "model tracker launcher ci devcontainer python_version license"
OPTIONS = [
    "mlp tensorboard slurm gitlab no 3.11 Apache-2.0",
    "mlp wandb skypilot none yes 3.11 Proprietary",
    "transformer none none github yes 3.12 BSD-3-Clause",
    "diffusion none skypilot none no 3.13 MIT",
    "cnn wandb slurm gitlab yes 3.13 MIT",
    "cnn tensorboard none none no 3.12 Apache-2.0",
    "diffusion wandb slurm github no 3.12 Proprietary",
    "transformer tensorboard skypilot github no 3.13 MIT",
    "diffusion tensorboard none gitlab yes 3.11 BSD-3-Clause",
    "transformer none slurm none no 3.11 Apache-2.0",
    "mlp none skypilot gitlab yes 3.12 MIT",
    "cnn none skypilot github no 3.11 BSD-3-Clause",
    "mlp wandb none github yes 3.13 Apache-2.0",
    "transformer wandb none gitlab no 3.13 Proprietary",
]

# What these do not depend on is in no project.
LOWEST = {
    "mlp-tensorboard": ["model=mlp", "tracker=tensorboard"],
    "transformer-wandb": ["model=transformer", "tracker=wandb"],
}

ROOT = Path(__file__).parent
GROUPS = nox.project.load_toml(ROOT / "pyproject.toml")


def option_rows() -> list:
    """The rows of OPTIONS, each with the Python that its project asks for at least."""
    params = []
    for line in OPTIONS:
        row = dict(zip(QUESTIONS.split(), line.split(), strict=True))
        name = "-".join([row["model"], row["tracker"], row["launcher"]])
        # Any Python that can run nox is new enough for the lowest.
        python = None if row["python_version"] == PYTHONS[0] else row["python_version"]
        answers = [f"{question}={answer}" for question, answer in row.items()]
        params.append(nox.param(python, answers, id=name))
    return params


ROWS = option_rows()

nox.needs_version = ">=2025.5.1"
nox.options.sessions = [
    *("lint", "tests", "update"),
    *(f"options({row.id})" for row in ROWS[:2]),
    # The tests of `mlp`, the first model, ran with options already; its hooks are those of all.
    *(f"variants({model})" for model in MODELS[1:]),
]
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

# A project is installed into its own .venv by its own metadata, whatever environment is active.
PROJECT_ENV = {
    "VIRTUAL_ENV": None,
    "CONDA_PREFIX": None,
    "PYTHONPATH": None,
    "UV_PROJECT_ENVIRONMENT": None,
    "UV_PYTHON_DOWNLOADS": "never",
}

STYLE = [["ruff", "check", "."], ["ruff", "format", "--check", "."]]
HOOKS = ["pre-commit", "run", "--all-files"]
SUITE = ["pytest", "--numprocesses", "2", "--durations", "5"]
QUICK_SUITE = [*SUITE, "-m", "not slow"]
INSTALLED = ["python", str(ROOT / "tools" / "reserved_names.py"), "--installed"]


def install(session: nox.Session, group: str) -> None:
    session.install(*nox.project.dependency_groups(GROUPS, group))


def uv(session: nox.Session, *args: str) -> None:
    """Run uv in the current folder, also where it came with `nox[uv]` and is not on PATH.

    The project gets the Python of the session.
    """
    available, path, _ = find_uv()
    if not available:
        session.error(
            "uv is missing: install it into the environment of nox, pip install 'nox[uv]'"
        )
    python = {"UV_PYTHON": str(Path(session.bin, "python"))}
    session.run(path, *args, env=PROJECT_ENV | python, external=True)


def check(session: nox.Session, *commands: list[str]) -> None:
    """Run commands in the environment of the project in the current folder."""
    for command in commands:
        uv(session, "run", "--no-sync", *command)


def pytest(session: nox.Session, marked: str) -> None:
    arguments = session.posargs or ["--numprocesses", "2"]
    session.run("pytest", "-m", marked, *arguments, env={"PYTHONPATH": None})


def render(session: nox.Session, folder: Path, *answers: str) -> None:
    """Render the work tree as it is now, uncommitted changes included."""
    install(session, "render")
    session.run("python", str(ROOT / "tools" / "render.py"), str(folder), *answers)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder with a blank and a letter that is not ASCII in its name.

    It is outside .nox, below which ruff obeys nox's .gitignore and passes without a look.
    """
    with tempfile.TemporaryDirectory(prefix="jax-template ä ") as folder:
        yield Path(folder).resolve()


@contextmanager
def installed(
    session: nox.Session, *answers: str, inside: str = "", sync: Sequence[str] = ()
) -> Iterator[None]:
    """A project with these answers is rendered, under git and installed, and the current folder.

    `inside` names a folder of the git repository that the project is then in.
    """
    with scratch_folder() as scratch:
        render(session, scratch / inside, *answers)
        with session.chdir(scratch):
            session.run("git", "init", "--quiet", external=True)
            session.run("git", "add", "--all", external=True)
        with session.chdir(scratch / inside):
            uv(session, "sync", *sync)
            yield


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
        near = difflib.get_close_matches(names[0], MODELS, 1)
        if near and Path(names[0]).name == names[0]:
            refuse(f"no model is {names[0]}; {near[0]} is one. For a folder write ./{names[0]}")
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
    """Updates from each release keep a user's edits and pass the checks; -- [pytest args]."""
    install(session, "tests")
    pytest(session, "update")
    if session.posargs:
        return
    with scratch_folder() as scratch:
        project = scratch / "project"
        session.run("python", str(ROOT / "tools" / "updated_project.py"), str(project))
        if not project.exists():  # the tool has said why
            return
        with session.chdir(project):
            uv(session, "sync")
            check(
                session,
                *STYLE,
                ["basedpyright"],
                ["pytest", "tests/test_own.py", "tests/test_architecture.py"],
                ["python", "scripts/train.py", "--preset", "own"],
            )


@nox.session
@nox.parametrize("python, answers", ROWS)
def options(session: nox.Session, answers: list[str]) -> None:
    """A project with these options, in a larger repository, passes its own checks and trains."""
    with installed(session, *answers, inside="part of a larger repository"):
        trains = ["python", "scripts/train.py", "--preset", "debug", "--run-dir", "runs/try"]
        check(session, *STYLE, ["basedpyright"], INSTALLED, QUICK_SUITE, trains)


@nox.session
@nox.parametrize("model", [nox.param(model, id=model) for model in MODELS])
def variants(session: nox.Session, model: str) -> None:
    """A project of this model installs from its own metadata and passes its own checks."""
    suite = QUICK_SUITE if model in LEFT_OUT else SUITE
    with installed(session, f"model={model}"):
        check(session, *STYLE, HOOKS, ["basedpyright"], INSTALLED, suite)


@nox.session
@nox.parametrize("model", [nox.param(model, id=model) for model in LEFT_OUT])
def slow(session: nox.Session, model: str) -> None:
    """The tests of a project of this model that `variants` leaves out."""
    with installed(session, f"model={model}"):
        check(session, [*SUITE, "-m", "slow"])


@nox.session
def skypilot(session: nox.Session) -> None:
    """SkyPilot itself reads a project's job for it; nothing is started."""
    with scratch_folder() as folder:
        render(session, folder / "project", "launcher=skypilot")
        install(session, "skypilot")
        tool, job = ROOT / "tools" / "check_skypilot.py", folder / "project" / "launch"
        # SkyPilot keeps a folder in the home of its user.
        session.run("python", str(tool), str(job / "train.sky.yaml"), env={"HOME": str(folder)})


@nox.session
def faults(session: nox.Session) -> None:
    """A project's own checks fail on bad style, a wrong type, a reused key, a conflict marker."""
    with installed(session):
        check(session, ["python", str(ROOT / "tools" / "planted_faults.py")])


@nox.session(python=PYTHONS)
def pythons(session: nox.Session) -> None:
    """A project passes its tests on this Python; -- [key=value ...] for other answers."""
    # The text of the language model comes with Python, and differs.
    with installed(session, *(session.posargs or ["model=transformer"])):
        check(session, ["basedpyright"], SUITE)


@nox.session(python=PYTHONS[0])
@nox.parametrize("answers", [nox.param(answers, id=name) for name, answers in LOWEST.items()])
def lowest(session: nox.Session, answers: list[str]) -> None:
    """A project passes its checks with the lowest versions that it allows of what it names."""
    with installed(session, *answers, sync=["--resolution", "lowest-direct"]):
        check(session, *STYLE, HOOKS, ["nox", "--list"], ["basedpyright"], SUITE)


@nox.session
@nox.parametrize("model", [nox.param(model, id=model) for model in MODELS])
def gpu(session: nox.Session, model: str) -> None:
    """A project of this model passes its tests and trains on an NVIDIA GPU; -- [cuda12]."""
    # Asked before anything is installed, as the project's own session does.
    if not (Path("/dev/nvidiactl").exists() or Path("/dev/dxg").exists()):
        session.error("This machine has no NVIDIA GPU, or its driver is not loaded")
    with scratch_folder() as folder:
        render(session, folder, f"model={model}")
        with session.chdir(folder):
            nox_here = [sys.executable, "-m", "nox", "--session", "gpu", "--", *session.posargs]
            session.run(*nox_here, external=True)


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

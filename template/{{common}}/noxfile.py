"""The checks of this project, each in an environment of its own. `nox --list` shows them.

Plain `nox` runs lint, types and tests. What follows `--` goes to the tool of the session, as in
`nox -s tests-3.13 -- -k checkpoint`. Each session installs the newest versions that pyproject.toml
allows, so a release that breaks the project shows here first. `.venv` and `uv.lock` stay untouched.
"""

import os
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2025.10.16"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.download_python = "never"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["lint", "types", "tests"]

PROJECT = nox.project.load_toml("pyproject.toml")
PYTHONS = nox.project.python_versions(PROJECT)
TEST = nox.project.dependency_groups(PROJECT, "test")
LINT = nox.project.dependency_groups(PROJECT, "lint")
DEV = nox.project.dependency_groups(PROJECT, "dev")

# Without byte code, each start of Python compiles JAX again: twice the time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# pyenv puts one Python on PATH and hides its others.
PYENV = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
os.environ["PATH"] = os.pathsep.join(
    [os.environ["PATH"], *(str(path) for path in sorted(PYENV.glob("versions/3.*/bin")))]
)

CHECK_GPU = """
import sys
try:
    import jax
    print("JAX sees", jax.devices("gpu"))
except Exception as error:
    reason = (str(error).splitlines() or ["its CUDA plugin did not start"])[0]
    sys.exit(f"JAX sees no GPU on this machine: {reason}")
"""


@nox.session(tags=["ci"])
def lint(session: nox.Session) -> None:
    """Style, format, and what git would commit: conflict markers, rejected hunks, large files."""
    session.install(*LINT)
    session.run("ruff", "check")
    session.run("ruff", "format", "--check", "--diff")
    if Path(".git").exists():
        session.run("pre-commit", "run", "--all-files", env={"SKIP": "ruff-check,ruff-format"})
    else:
        session.log("This folder is not the top of a git repository: hooks of pre-commit skipped.")


@nox.session(tags=["ci"])
def types(session: nox.Session) -> None:
    """Static types."""
    session.install("-e.", *DEV)
    # Named, or a `.venv` in this folder would be looked at instead.
    python = Path(session.bin, "python")
    session.run("basedpyright", "--pythonpath", str(python), *session.posargs)


@nox.session(python=PYTHONS, tags=["ci"])
def tests(session: nox.Session) -> None:
    """The tests on the CPU, for each Python of the classifiers that this machine has."""
    session.install("-e.", *TEST)
    session.run("pytest", *(session.posargs or ["--numprocesses=auto", "--maxprocesses=4"]))


@nox.session
def gpu(session: nox.Session) -> None:
    """The tests and a short training on an NVIDIA GPU: `nox -s gpu`, or `nox -s gpu -- cuda12`."""
    extra = session.posargs[0] if session.posargs else "cuda13"
    if extra not in ("cuda12", "cuda13"):
        session.error(f"Write cuda12 or cuda13 after --, not {extra}")
    if not sys.platform.startswith("linux"):
        session.error("JAX uses NVIDIA GPUs on Linux only (on Windows: inside WSL 2)")
    # Asked before gigabytes are installed; /dev/dxg is the GPU inside WSL 2.
    if not (Path("/dev/nvidiactl").exists() or Path("/dev/dxg").exists()):
        session.error("This machine has no NVIDIA GPU, or its driver is not loaded")
    session.install(f"-e.[{extra}]", *TEST)
    session.env["JAX_PLATFORMS"] = "cuda"
    session.env["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    session.run("python", "-c", CHECK_GPU)
    session.run("pytest", *session.posargs[1:])
    run_dir = Path(session.create_tmp()).resolve() / "run"
    session.run("python", "scripts/train.py", "--run-dir", str(run_dir), "--steps", "200")


@nox.session
def stress(session: nox.Session) -> None:
    """Training survives being killed at twenty random moments, to the bit; `-- 100` for more."""
    session.install("-e.", *TEST)
    kills = session.posargs[0] if session.posargs else "20"
    session.run("pytest", "tests/test_kills.py", env={"KILLS": kills})

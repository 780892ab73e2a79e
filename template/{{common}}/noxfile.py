"""The checks of this project, each in an environment of its own. `nox --list` shows them.

Plain `nox` runs lint, types and tests. What follows `--` goes to the tool of the session, as in
`nox -s tests-3.13 -- -k checkpoint`. Each session installs the newest versions that pyproject.toml
allows, so a release that breaks the project shows here first. `.venv` and `uv.lock` stay untouched.
"""

import os
import re
import shutil
import subprocess
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
    """Kills, stops, damage, bad numbers and mistakes lose no bit; `-- 100` for more kills."""
    session.install("-e.", *TEST)
    kills = session.posargs[0] if session.posargs else "20"
    session.run("pytest", "tests/test_kills.py", env={"KILLS": kills})
    names = ("checkpoints", "not_finite", "run_folder", "metrics_log", "scripts", "processes")
    session.run("pytest", *(f"tests/test_{name}.py" for name in names))


@nox.session(venv_backend="none")
def update(session: nox.Session) -> None:
    """Newer files from the template, edits kept; `-- --data NAME=VALUE` changes an answer."""
    # A hook of git sets these; they would name another repository than this folder's.
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"):
        os.environ.pop(name, None)
    if not shutil.which("git"):
        session.error("git is not on PATH: install it first, an update cannot do without")
    if subprocess.run(IN_GIT, capture_output=True).returncode:
        session.error("Not under git, so nothing could be undone: git init, add and commit first")
    if changes := git("status", "--porcelain", "--untracked-files=normal"):
        session.error(f"Commit or stash first, so that the update can be undone:\n{changes}")
    if problem := unknown_origin():
        session.error(problem)
    copier = [shutil.which("copier")] if shutil.which("copier") else [shutil.which("uvx"), "copier"]
    if not copier[0]:
        session.error("Install copier or uv first, for example: pip install copier")
    # Without a terminal, new questions get their defaults.
    options = ["--skip-answered", *([] if sys.stdin.isatty() else ["--defaults"])]
    session.run(*copier, "update", *options, *session.posargs, external=True)

    unmerged = paths("diff", "--name-only", "--diff-filter=U")
    marked = [path for path in paths("diff", "--name-only", "HEAD") if has_marker(Path(path))]
    rejected = paths("ls-files", "--others", "*.rej")
    gone = paths("diff", "--name-only", "--diff-filter=D", "HEAD")
    problems = [
        ("Both versions stand in these files. Choose, then git add them:", unmerged + marked),
        ("What could not be applied is in these files. Apply it by hand:", rejected),
        (
            "These are gone, and you had edited them. git checkout HEAD -- FILE brings one back:",
            edited(session, copier, gone) if gone else [],
        ),
    ]
    if any(names for _, names in problems):
        for sentence, names in problems:
            if names:
                print(sentence, *sorted(set(names)), sep="\n  ", file=sys.stderr)
        undo = "git reset --quiet && git stash --include-untracked"
        print("To undo all of it:", undo, sep="\n  ", file=sys.stderr)
        session.error("updated, but the files above need a look before you commit")
    session.log("Updated. Look at git diff, run the tests, then commit.")


IN_GIT = ["git", "rev-parse", "--is-inside-work-tree"]
ANSWERS = Path(".copier-answers.yml")


def unknown_origin() -> str:
    """What the answers file lacks for an update, or nothing."""
    if not ANSWERS.is_file():
        return f"{ANSWERS} is missing: git log -- {ANSWERS} shows which commit still had it"
    stored = re.findall(r"^(_commit|_src_path): *(.*)$", ANSWERS.read_text("utf-8"), re.MULTILINE)
    origin = {name: value.strip("'\"") for name, value in stored}
    if not origin.get("_commit"):
        return f"{ANSWERS} names no version (_commit): the template was not under git when copied"
    path = Path(origin.get("_src_path", ""))
    if path.is_absolute() and not path.exists():
        return f"The template is not at {path} any more: write where after _src_path in {ANSWERS}"
    return ""


def git(*args: str) -> str:
    return subprocess.run(["git", *args], check=True, capture_output=True).stdout.decode()


def paths(*args: str) -> list[str]:
    """Names that git lists, below this folder."""
    relative = ["--relative"] if args[0] == "diff" else []
    return [path for path in git(*args, *relative, "-z").split("\0") if path]


def has_marker(path: Path) -> bool:
    lines = path.read_bytes().splitlines() if path.is_file() else []
    return any(line.startswith((b"<<<<<<< ", b">>>>>>> ")) for line in lines)


def edited(session: nox.Session, copier: list[str], names: list[str]) -> list[str]:
    """Those of the files that differed, when last committed, from what the template made."""
    folder = Path(session.create_tmp()).resolve() / "as-rendered"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / ANSWERS).write_text(git("show", f"HEAD:./{ANSWERS}"), encoding="utf-8")
    render = ["recopy", "--vcs-ref", ":current:", "--defaults", "--overwrite", "--quiet"]
    session.run(*copier, *render, str(folder), external=True, log=False)
    return [
        name
        for name in names
        if not (folder / name).is_file()
        or subprocess.run(["git", "show", f"HEAD:./{name}"], capture_output=True).stdout
        != (folder / name).read_bytes()
    ]

"""Plant faults in a project and see that its own checks refuse them.

    python tools/planted_faults.py

Runs in a rendered project of the model mlp that is under git, with the Python of its environment.
Each check first passes without the fault.
"""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

OWN_TEST = "tests/test_planted.py"
REUSED = '''"""A key is used twice."""

import jax


def test_draws() -> None:
    key = jax.random.key(0)
    assert float(jax.random.uniform(key) + jax.random.uniform(key)) > 0.0
'''
LOSSES = "src/my_jax_project/training/losses.py"


@dataclass(frozen=True)
class Fault:
    """What is planted, the check that has to fail, and what it has to say."""

    name: str
    path: str
    old: str
    """Text of the file that is replaced; empty where a new file is planted."""
    new: str
    check: tuple[str, ...]
    said: str


RUFF = ("ruff", "check", "--no-cache", ".")
HOOKS = ("pre-commit", "run", "--all-files")
TESTS = ("pytest", "-q")

FAULTS = [
    Fault("an unused import", LOSSES, "import jax\n", "import os\n\nimport jax\n", RUFF, "F401"),
    Fault(
        "a line that is not formatted",
        LOSSES,
        "import jax\n",
        "import  jax\n",
        ("ruff", "format", "--check", "--diff", "."),
        "-import  jax",
    ),
    Fault(
        "a value of the wrong type",
        LOSSES,
        "    picked = ",
        '    wrong: int = "text"\n    picked = wrong + ',
        ("basedpyright", LOSSES),
        "reportAssignmentType",
    ),
    Fault("a key used twice in a test", OWN_TEST, "", REUSED, (*TESTS, OWN_TEST), "KeyReuseError"),
    Fault(
        "a key used twice in the step",
        LOSSES,
        "images = augment(batch.images, config.data, augment_key)",
        "images = batch.images if key is None else batch.images + 0.1 * jax.random.normal(\n"
        "        model_key, batch.images.shape\n    )",
        (*TESTS, "tests/test_training.py", "-x"),
        "KeyReuseError",
    ),
    Fault("a conflict marker", "README.md", "## Install\n", "<<<<<<< before\n", HOOKS, "README.md"),
    Fault("a rejected hunk", "README.md.rej", "", "@@ -1 +1 @@\n", HOOKS, "README.md.rej"),
]


def run(command: tuple[str, ...]) -> tuple[int, str]:
    subprocess.run(["git", "add", "--all"], check=True)
    result = subprocess.run(command, capture_output=True, text=True)
    return result.returncode, result.stdout + result.stderr


def missed(fault: Fault) -> str:
    """Why the fault was not caught in the right way, or nothing."""
    path = Path(fault.path)
    before = path.read_text(encoding="utf-8") if fault.old else ""
    if fault.old not in before:
        return f"{path} has no {fault.old!r} to replace"
    # A new test cannot pass before it is there.
    if fault.path not in fault.check or fault.old:
        status, output = run(fault.check)
        if status:
            return f"{' '.join(fault.check)} fails without it:\n{output}"
    path.write_text(before.replace(fault.old, fault.new, 1) if fault.old else fault.new, "utf-8")
    try:
        status, output = run(fault.check)
    finally:
        path.write_text(before, encoding="utf-8") if fault.old else path.unlink()
    if not status or fault.said not in output:
        return f"{' '.join(fault.check)} ended with {status}:\n{output}"
    return ""


def main() -> int:
    failed = False
    for fault in FAULTS:
        problem = missed(fault)
        failed = failed or bool(problem)
        print(f"{'MISSED' if problem else 'caught'}: {fault.name}", problem, flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())

"""What copier takes for a project of this template, and for one of a template of a single file.

    nox -s tests -- --collect-only -q
    .nox/tests/bin/python benchmarks/rendering.py

Both are git repositories with two versions, as a hosted template is. In each round each is copied
and updated once, in turns, without a question asked. What a copy costs is mostly the number of
files: copier looks each up in git.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from releases import stage_work_tree

AUTHOR = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
ANSWERS_FILE = "{{ _copier_conf.answers_file }}.jinja"


def git(folder: Path, *args: str) -> None:
    subprocess.run(["git", *AUTHOR, *args], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def release(folder: Path, tag: str) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", tag)
    git(folder, *("tag", "--annotate", tag, "--message", tag))


def whole_template(folder: Path) -> None:
    """This work tree, released twice with a changed line between."""
    folder.mkdir()
    git(folder, "init", "--quiet")
    stage_work_tree(folder)
    release(folder, "v1.0.0")
    ruff = folder / "template" / "{{common}}" / "ruff.toml"
    ruff.write_text(ruff.read_text(encoding="utf-8") + "# newer\n", encoding="utf-8")
    release(folder, "v2.0.0")


def one_file_template(folder: Path) -> None:
    """One question and one file beside that of the answers, likewise."""
    folder.mkdir()
    git(folder, "init", "--quiet")
    question = "project_name:\n  type: str\n  default: My project\n"
    (folder / "copier.yml").write_text(question, encoding="utf-8")
    (folder / ANSWERS_FILE).write_text("{{ _copier_answers|to_nice_yaml }}", encoding="utf-8")
    for tag in ("v1.0.0", "v2.0.0"):
        text = f"# {{{{ project_name }}}}\n\n{tag}\n"
        (folder / "README.md.jinja").write_text(text, encoding="utf-8")
        release(folder, tag)


def copier(*words: str, cwd: Path) -> float:
    """Seconds that the command takes."""
    environment = os.environ | {"PYTHONWARNINGS": "ignore", "COPIER_SETTINGS_PATH": "none.yml"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    words = (sys.executable, "-m", "copier", *words)
    subprocess.run(words, cwd=cwd, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def measure(template: Path, project: Path) -> tuple[float, float]:
    """Seconds of a copy of the first version, and of its update to the second."""
    words = ["copy", "--quiet", "--defaults", "--vcs-ref", "v1.0.0", str(template), str(project)]
    copied = copier(*words, cwd=template.parent)
    git(project, "init", "--quiet")
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "copied")
    return copied, copier("update", "--quiet", "--defaults", cwd=project)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time copy and update of two templates.")
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    times: dict[str, list[tuple[float, float]]] = {"this template": [], "one file": []}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        whole_template(folder / "this template")
        one_file_template(folder / "one file")
        for number in range(rounds + 1):
            for name, column in times.items():
                found = measure(folder / name, folder / f"{name} {number}")
                if number:  # the first round compiles copier itself
                    column.append(found)
        files = sum(path.is_file() for path in (folder / "this template 1").glob("**/*"))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"{cores} cores, Python {platform.python_version()}, {rounds} rounds in turns")
    print("|  | this template, s | one file, s | ratio |\n| --- | --- | --- | --- |")
    for index, what in enumerate(("copy", "update")):
        ours, least = ([pair[index] for pair in column] for column in times.values())
        ratios = [a / b for a, b in zip(ours, least, strict=True)]
        spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"
        medians = [f"{statistics.median(column):.2f}" for column in (ours, least)]
        print(f"| {what} | {medians[0]} | {medians[1]} | {spread} |")
    print(f"{files} files, those of git included, after the update")


if __name__ == "__main__":
    main()

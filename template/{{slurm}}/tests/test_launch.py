"""The batch script starts training with its flags, and goes on after a stop."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "launch" / "train.sbatch"


def submit(tmp_path: Path, status: int, *flags: str) -> tuple[int, list[str]]:
    """Run the script with stand-ins of Slurm's commands; returns its status and what it called."""
    log = tmp_path / "calls"
    for name, code in (("srun", status), ("scontrol", 0)):
        stand_in = tmp_path / name
        stand_in.write_text(f'#!/bin/sh\nprintf "%s|" {name} "$@" >> "{log}"\n')
        with stand_in.open("a") as file:
            file.write(f'echo >> "{log}"\nexit {code}\n')
        stand_in.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "SLURM_JOB_ID": "7"}
    done = subprocess.run(["bash", str(SCRIPT), *flags], env=environment)
    return done.returncode, log.read_text().splitlines()


@pytest.mark.parametrize("status", [0, 1, 2])
def test_flags_arrive_and_the_status_is_that_of_training(tmp_path: Path, status: int) -> None:
    returned, calls = submit(tmp_path, status, "--run-dir", "runs/a b")
    assert returned == status
    assert calls == ["srun|uv|run|--no-sync|scripts/train.py|--run-dir|runs/a b|"]


def test_a_stopped_run_is_queued_again(tmp_path: Path) -> None:
    returned, calls = submit(tmp_path, 143, "--run-dir", "runs/first")
    assert returned == 143
    assert calls[1:] == ["scontrol|requeue|7|"]

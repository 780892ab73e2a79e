"""The batch script starts training with its flags, and goes on after a stop."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "launch" / "train.sbatch"


def submit(tmp_path: Path, status: int, *flags: str, **variables: str) -> tuple[int, list[str]]:
    """Run the script with stand-ins of Slurm's commands; returns its status and what it called."""
    log = tmp_path / "calls"
    for name, code in (("srun", status), ("scontrol", 0)):
        stand_in = tmp_path / name
        stand_in.write_text(f'#!/bin/sh\nprintf "%s|" {name} "$@" >> "{log}"\n')
        with stand_in.open("a") as file:
            file.write(f'echo >> "{log}"\nexit {code}\n')
        stand_in.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "SLURM_JOB_ID": "7"} | variables
    done = subprocess.run(["bash", str(SCRIPT), *flags], env=environment)
    return done.returncode, log.read_text().splitlines()


@pytest.mark.parametrize("status", [0, 1, 2])
def test_flags_arrive_and_the_status_is_that_of_training(tmp_path: Path, status: int) -> None:
    returned, calls = submit(tmp_path, status, "--run-dir", "runs/a b")
    assert returned == status
    assert calls == ["srun|--cpus-per-task=4|uv|run|--no-sync|scripts/train.py|--run-dir|runs/a b|"]


def test_a_stopped_run_is_queued_again(tmp_path: Path) -> None:
    returned, calls = submit(tmp_path, 143, "--run-dir", "runs/first")
    assert returned == 143
    assert calls[1:] == ["scontrol|requeue|7|"]


def test_several_tasks_train_together_in_a_container(tmp_path: Path) -> None:
    _, calls = submit(
        tmp_path, 0, "--steps", "3", SLURM_NTASKS="2", SLURM_CPUS_PER_TASK="8", CONTAINER="my image"
    )
    flags = "scripts/train.py|--distributed|--steps|3|"
    assert calls == [f"srun|--cpus-per-task=8|--container-image=my image|uv|run|--no-sync|{flags}"]


SRUN = """#!/bin/sh
shift
for task in 0 1; do
  SLURM_PROCID=$task SLURM_LOCALID=$task SLURM_STEP_NODELIST=localhost "$@" &
  tasks="$tasks $!"
done
for task in $tasks; do wait "$task" || exit; done
"""


def test_two_tasks_find_each_other_and_train(tmp_path: Path) -> None:
    """Started as Slurm starts them, on this machine."""
    python = f'#!/bin/sh\nshift 2\nexec "{sys.executable}" "$@"\n'
    for name, text in (("srun", SRUN), ("uv", python)):
        stand_in = tmp_path / name
        stand_in.write_text(text)
        stand_in.chmod(0o755)
    job = {"SLURM_JOB_ID": str(10_000 + os.getpid() % 20_000), "SLURM_NTASKS": "2"}
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    flags = ["--preset", "debug", "--steps", "4", "--log-every", "2"]
    done = subprocess.run(
        ["bash", str(SCRIPT), "--run-dir", str(tmp_path / "run"), *flags],
        env=os.environ | job | {"PATH": path, "JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "1"},
        cwd=SCRIPT.parents[1],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("trained 4 steps") == 1
    lines = (tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["step"] for line in lines if "gradient_norm" in line] == [2, 4]


def test_bash_reads_the_script() -> None:
    subprocess.run(["bash", "-n", str(SCRIPT)], check=True)

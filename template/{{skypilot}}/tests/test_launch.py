"""The task starts training with its flags, in a folder that outlives the machine."""

import os
import subprocess
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
TASK = yaml.safe_load((ROOT / "launch" / "train.sky.yaml").read_text(encoding="utf-8"))


def words(tmp_path: Path, **variables: str) -> str:
    """What a machine of the job runs."""
    stand_in = tmp_path / "uv"
    stand_in.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    stand_in.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    environment = os.environ | TASK["envs"] | {"PATH": path, **variables}
    done = subprocess.run(
        ["bash", "-c", TASK["run"]], env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout


def test_what_runs_is_this_project(tmp_path: Path) -> None:
    started = words(tmp_path, FLAGS="--steps 3 --seed 7", SKYPILOT_NUM_NODES="1")
    flags = "--run-dir|/runs/first|--steps|3|--seed|7|"
    assert started == f"run|--no-sync|scripts/train.py|{flags}"
    assert (ROOT / "scripts" / "train.py").is_file()


def test_several_machines_train_together(tmp_path: Path) -> None:
    nodes = {"SKYPILOT_NUM_NODES": "2", "SKYPILOT_NODE_RANK": "1"}
    started = words(tmp_path, SKYPILOT_NODE_IPS="10.0.0.5\n10.0.0.6", **nodes)
    flags = "--coordinator|10.0.0.5:8476|--num-processes|2|--process-id|1|"
    assert started == f"run|--no-sync|scripts/train.py|--run-dir|/runs/first|{flags}"


def test_the_run_folder_is_a_bucket() -> None:
    assert TASK["file_mounts"]["/runs"]["mode"] == "MOUNT"
    assert TASK["workdir"] == "."

"""The task starts training with its flags, in a folder that outlives the machine."""

import os
import subprocess
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
TASK = yaml.safe_load((ROOT / "launch" / "train.sky.yaml").read_text(encoding="utf-8"))


def test_what_runs_is_this_project(tmp_path: Path) -> None:
    stand_in = tmp_path / "uv"
    stand_in.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    stand_in.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    environment = os.environ | TASK["envs"] | {"PATH": path, "FLAGS": "--steps 3 --seed 7"}
    done = subprocess.run(
        ["bash", "-c", TASK["run"]], env=environment, check=True, capture_output=True, text=True
    )
    flags = "--run-dir|/runs/first|--steps|3|--seed|7|"
    assert done.stdout == f"run|--no-sync|scripts/train.py|{flags}"
    assert (ROOT / "scripts" / "train.py").is_file()


def test_the_run_folder_is_a_bucket() -> None:
    assert TASK["file_mounts"]["/runs"]["mode"] == "MOUNT"
    assert TASK["workdir"] == "."

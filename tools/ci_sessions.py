"""Print the jobs of CI as JSON: every session that checks something, and the Python of each.

A session that asks for no Python of its own runs on the lowest and the newest that are supported.
"""

import json
import subprocess
import sys
from functools import cache
from typing import Any

from render import ROOT

# All but `release`, `bench`, which measures, and `gpu`, for which CI has no machine.
SESSIONS = [
    *("demo", "lint", "tests", "update", "options", "variants", "slow"),
    *("skypilot", "faults", "pythons", "lowest"),
]
PYTHONS = ["3.11", "3.13"]


@cache
def listed(*names: str) -> list[dict[str, Any]]:
    """What nox says of these sessions of the noxfile, or of those that plain `nox` runs."""
    chosen = ["--sessions", *names] if names else []
    command = [sys.executable, "-m", "nox", "--list", "--json", *chosen]
    result = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return json.loads(result.stdout)


def jobs() -> list[dict[str, str]]:
    return [
        {"session": session["session"], "python": python}
        for session in listed(*SESSIONS)
        for python in ([session["python"]] if session["python"] else PYTHONS)
    ]


def main() -> None:
    print(json.dumps(jobs()))


if __name__ == "__main__":
    main()

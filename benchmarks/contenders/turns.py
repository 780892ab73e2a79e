"""Worker processes, and taking turns among all that they hold."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parents[1]


class Worker:
    """One process with one library; a context manager."""

    def __init__(self, library: str, model: str, dtype: str, projects: Path, problem: Path):
        """Start it, and wait until it has its data."""
        sources = [str(projects / model / "src"), str(BENCHMARKS)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sources)}
        # Where it is set, Python compiles JAX again at each import.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = ["-W", "ignore", "-m", "contenders.worker", library, model, dtype, str(problem)]
        self._process = subprocess.Popen(
            [sys.executable, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.names: list[str] = self._answer()["ready"]

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *error: object) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def ask(self, name: str, **request: Any) -> dict[str, Any]:
        """The answer to a request.

        Raises:
            RuntimeError: the process has ended; what it had to say is on the error stream.
        """
        request = {"name": name, "arguments": [], **request}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("a worker has ended; what it said is above")
        return json.loads(line)


@dataclass
class Contender:
    """Somebody who takes turns: a few calls of so many steps, and seconds a step for each turn."""

    worker: Worker
    name: str
    steps: int
    calls: int = 1
    times: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def first(self, steps: int) -> list[float]:
        """Compile, and the losses of the first steps."""
        return self.worker.ask(self.name, steps=steps, calls=1)["losses"]

    def warm(self) -> None:
        """A turn that does not count: it may compile."""
        self.worker.ask(self.name, steps=self.steps, calls=1)

    def turn(self) -> None:
        """A turn that counts."""
        answer = self.worker.ask(self.name, steps=self.steps, calls=self.calls)
        self.times.append(answer["seconds"] / (self.steps * self.calls))
        self.cpu.append(answer["cpu"] / (self.steps * self.calls))


def take_turns(contenders: dict[str, Contender], rounds: int) -> None:
    """All of them in each round, every other round backwards."""
    for number in range(rounds):
        for contender in list(contenders.values())[:: 1 if number % 2 == 0 else -1]:
            contender.turn()

"""What a person watches: a bar on a terminal, plain lines elsewhere."""

import os
import sys
import time
from collections.abc import Mapping
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ..core.pytrees import count_elements
from ..training.state import TrainState
from .processes import is_leader


class QuietConsole(Console):
    """Goes quiet when nobody reads any more, as in `train.py | head`; training goes on.

    Of several processes only the leader talks.
    """

    def on_broken_pipe(self) -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class ProgressReport:
    """Steps done, steps a second, loss and time left; a context manager."""

    def __init__(self, start_step: int, total_steps: int):
        """Report on the steps from `start_step` to `total_steps`."""
        self._console = QuietConsole(highlight=False, soft_wrap=True, quiet=not is_leader())
        self._steps = start_step
        self._last_time: float | None = None  # the first chunk compiles: its speed says nothing
        self._bar = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            TextColumn("{task.fields[loss]}"),
            TimeRemainingColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task(
            "training", total=total_steps, completed=start_step, speed="compiling", loss=""
        )

    def __enter__(self) -> "ProgressReport":
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def say(self, text: str) -> None:
        """A line of text, above the bar."""
        self._console.print(text, markup=False)

    def chunk(self, step: int, metrics: Mapping[str, float]) -> dict[str, float]:
        """Report a chunk of steps.

        Returns:
            `steps_per_second` since the last report, where that is known.
        """
        now = time.perf_counter()
        speed = {}
        if self._last_time is not None:
            speed["steps_per_second"] = (step - self._steps) / (now - self._last_time)
        self._steps, self._last_time = step, now
        loss = f"loss {metrics['loss']:.4f}" if "loss" in metrics else "no finite loss"
        rate = "".join(f"{value:.3g} steps/s" for value in speed.values())
        self._bar.update(self._task, completed=step, speed=rate, loss=loss, refresh=True)
        if self._bar.disable:
            self.say(f"step {step:>7}  {loss}  {rate}".rstrip())
        return speed

    def evaluation(self, step: int, metrics: Mapping[str, float]) -> None:
        """Report an evaluation."""
        values = "  ".join(f"{name} {value:.4f}" for name, value in metrics.items())
        self.say(f"step {step:>7}  {values}")
        if self._last_time is not None:
            self._last_time = time.perf_counter()


def describe(state: TrainState, num_examples: int) -> str:
    """One line on the size of what is trained."""
    return f"{count_elements(state.params):,} parameters, {num_examples:,} training examples"

"""What a person watches during a sweep: a table on a terminal, lines elsewhere."""

import math
import time
from types import TracebackType

from rich.live import Live
from rich.table import Table

from ..progress import QuietConsole
from .folder import in_text
from .results import SweepResults

_SHOWN = 15
"""Settings in the table."""


class SweepReport:
    """The settings from best to worst, and how fast it goes; a context manager."""

    def __init__(self, results: SweepResults, metric: str):
        """Report on results, ranked by a held-out metric."""
        self._results, self._metric = results, metric
        self._console = QuietConsole(highlight=False, soft_wrap=True)
        self._live = Live(console=self._console, auto_refresh=False)
        self._since: float | None = None
        self._done, self._speed = 0, ""

    def __enter__(self) -> "SweepReport":
        sweep = self._results.sweep
        config = sweep.members[0].config
        settings = len({member.setting for member in sweep.members})
        self.say(
            f"{sweep.run_dir}: {len(sweep.members)} members in {settings} settings and "
            f"{len({row.group for row in self._results.rows})} groups, {config.steps} steps each, "
            f"ranked by eval/{self._metric}"
        )
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.stop()

    def say(self, text: str) -> None:
        """A line of text, above the table."""
        self._console.print(text, markup=False)

    def group(self) -> None:
        """Another group begins, whose first chunk compiles its program."""
        self._since = None

    def chunk(self, members: int, steps: int) -> None:
        """A group of so many members was trained for so many steps."""
        now = time.perf_counter()
        if self._since is None:
            self._since, self._done = now, 0
            return
        self._done += members * steps
        self._speed = f", {self._done / (now - self._since):.3g} steps/s of all members"

    def evaluation(self) -> None:
        """Members were evaluated."""
        self._show()
        self._since, self._done = time.perf_counter(), 0

    def _show(self) -> None:
        if self._live.is_started:
            self._live.update(self._table(), refresh=True)
            return
        mean, setting = self._results.ranking(self._metric)[0]
        rows = self._results.rows
        steps = sum(row.step for row in rows)
        self.say(
            f"{steps:>8} of {len(rows) * self._results.sweep.members[0].config.steps} steps  "
            f"best {self._describe(setting)}: eval/{self._metric} {_number(mean)}{self._speed}"
        )

    def summary(self, best: int) -> None:
        """The final table, and the best member."""
        if self._live.is_started:
            self._live.update(self._table(), refresh=True)
        else:
            self._console.print(self._table())
        member = self._results.sweep.members[best]
        self.say(f"best: {self._describe(member.setting)} seed {member.config.seed}")

    def _describe(self, setting: int) -> str:
        values = next(m.values for m in self._results.sweep.members if m.setting == setting)
        return " ".join(f"{name} {in_text(value)}" for name, value in values.items()) or "setting 0"

    def _table(self) -> Table:
        sweep, rows = self._results.sweep, self._results.rows
        ranking = self._results.ranking(self._metric)
        title = f"{len(ranking)} settings{self._speed}"
        table = Table(title=title, caption=_caption(len(ranking)))
        for name in ("rank", *sweep.members[0].values, "seeds", "step", f"eval/{self._metric}"):
            table.add_column(name.removeprefix("optimizer."), justify="right")
        table.add_column("status")
        for place, (mean, setting) in enumerate(ranking[:_SHOWN], start=1):
            own = [row for row in rows if sweep.members[row.member].setting == setting]
            values = sweep.members[own[0].member].values.values()
            states = sorted({row.status for row in own})
            words = [str(place), *map(in_text, values), str(len(own)), str(own[0].step)]
            table.add_row(*words, _number(mean), ", ".join(states))
        return table


def _caption(settings: int) -> str | None:
    return f"and {settings - _SHOWN} more in results.csv" if settings > _SHOWN else None


def _number(value: float) -> str:
    return f"{value:.4f}" if math.isfinite(value) else "-"

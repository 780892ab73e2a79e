"""What the time until the first steps goes into."""

import time

import jax

from . import IMPORTED_AT

_COMPILING = (
    "/jax/core/compile/jaxpr_trace_duration",
    "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "/jax/core/compile/backend_compile_duration",
)


class StartClock:
    """Seconds by what they were spent on."""

    def __init__(self, start: float):
        """Begin at `start`, a time of `time.perf_counter`."""
        self._last = start
        self._compiling = 0.0
        self._spent: dict[str, float] | None = {}
        jax.monitoring.register_event_duration_secs_listener(self._listen)

    def mark(self, name: str) -> None:
        """Note that the time since the last mark went into `name`, and into compiling."""
        now = time.perf_counter()
        compiling = min(self._compiling, now - self._last)
        self._add(name, now - self._last - compiling)
        self._add("compiling", compiling)
        self._last, self._compiling = now, 0.0

    def report(self, steps: int) -> list[str]:
        """One line on the time until so many steps were done, the first time only."""
        spent, self._spent = self._spent, None
        if spent is None:
            return []
        parts = ", ".join(f"{name} {seconds:.1f}" for name, seconds in spent.items())
        return [f"first {steps} steps done after {sum(spent.values()):.1f} s: {parts}"]

    def _add(self, name: str, seconds: float) -> None:
        if self._spent is not None:
            self._spent[name] = self._spent.get(name, 0.0) + seconds

    def _listen(self, event: str, duration_secs: float, **_: str | int) -> None:
        self._compiling += duration_secs if event in _COMPILING else 0.0


START = StartClock(IMPORTED_AT)
"""The clock of this process."""

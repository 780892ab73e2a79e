"""Stop requests: a signal asks, the host loop answers between two chunks."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopRequest:
    """Whether someone asked the run to stop, and by which signal."""

    def __init__(self) -> None:
        """No signal yet."""
        self.signum: int | None = None

    @property
    def requested(self) -> bool:
        """Whether a signal has come."""
        return self.signum is not None


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Catch the first SIGINT or SIGTERM as a request; the second one acts as usual."""
    request = StopRequest()
    usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def handle(signum: int, frame: FrameType | None) -> None:
        del frame
        request.signum = signum
        restore()
        print("stopping after this chunk, which is saved; again to stop at once", file=sys.stderr)

    def restore() -> None:
        for number, handler in usual.items():
            signal.signal(number, handler)

    for number in usual:
        signal.signal(number, handle)
    try:
        yield request
    finally:
        restore()

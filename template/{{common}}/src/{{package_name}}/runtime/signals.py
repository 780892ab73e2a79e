"""Stop requests: a signal asks, the host loop answers between two chunks."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopRequest:
    """Whether someone asked the run to stop, and by which signal."""

    signum: int = 0
    """Number of the signal; 0 as long as none has come."""


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Catch the first SIGINT or SIGTERM as a request; the second one ends the process at once.

    At once means inside a compiled program too, where an exception of Python would have to wait.
    What is saved is safe: a checkpoint gets its name only when it is whole.
    """
    request = StopRequest()
    numbers = (signal.SIGINT, signal.SIGTERM)
    usual = [signal.getsignal(number) for number in numbers]

    def handle(signum: int, frame: FrameType | None) -> None:
        del frame
        request.signum = signum
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)
        print("stopping after this chunk, which is saved; again to stop at once", file=sys.stderr)

    for number in numbers:
        signal.signal(number, handle)
    try:
        yield request
    finally:
        for number, handler in zip(numbers, usual, strict=True):
            signal.signal(number, handler)

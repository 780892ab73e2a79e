"""Stop requests: a signal asks, the host loop answers between two chunks."""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_NUMBERS = (signal.SIGINT, signal.SIGTERM)
_ONE_REQUEST = 1.0
"""Seconds in which several signals are one request: `uv run`, `timeout` and schedulers signal a
process and its group, or pass on what the process got already."""


class StopRequest:
    """Whether someone asked the run to stop, and by which signal."""

    signum: int = 0
    """Number of the signal; 0 as long as none has come."""


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Catch the first SIGINT or SIGTERM as a request; a later one ends the process at once.

    At once means inside a compiled program too, where a handler of Python would have to wait. The
    status is then 128 plus the number of the signal as well. What is saved is safe: a checkpoint
    gets its name only when it is whole.
    """
    request = StopRequest()

    def handle(signum: int, frame: FrameType | None) -> None:
        del frame
        request.signum = request.signum or signum

    # Python writes the number of each signal there at once, whatever the main thread does.
    heard, told = socket.socketpair()
    told.setblocking(False)
    usual = [signal.signal(number, handle) for number in _NUMBERS]
    usual_file = signal.set_wakeup_fd(told.fileno())
    watcher = threading.Thread(target=_watch, args=[heard], daemon=True)
    watcher.start()
    try:
        yield request
    finally:
        signal.set_wakeup_fd(usual_file)
        for number, handler in zip(_NUMBERS, usual, strict=True):
            signal.signal(number, handler)
        told.close()
        watcher.join()
        heard.close()


def _watch(heard: socket.socket) -> None:
    """Answer the first signal with a sentence, and one that comes later with the end.

    Reads the numbers of signals until the other end is closed.
    """
    first = None
    while signum := heard.recv(1):
        if signum[0] not in _NUMBERS:
            continue
        if first is None:
            first = time.monotonic()
            print("stopping after this chunk, which is saved; again ends at once", file=sys.stderr)
        elif time.monotonic() - first > _ONE_REQUEST:
            os._exit(128 + signum[0])

"""Several processes that train as one: how they find each other, and how they agree.

All of them run the same program on the same files. Process 0 leads: it writes what is written once.
"""

import argparse
import os
import re
import socket
import sys
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import jax
import numpy as np
from jax.experimental import multihost_utils
from jaxtyping import PyTree

from ..core.errors import UserError, first_line

T = TypeVar("T")

_ADVICE = (
    "Start all of them with the same --coordinator HOST:PORT and --num-processes, and each with "
    "its own --process-id; or under a scheduler with --distributed."
)


def add_process_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say which processes train together."""
    parser.add_argument("--distributed", action="store_true")
    parser.add_argument("--coordinator", type=_address)
    parser.add_argument("--num-processes", type=int)
    parser.add_argument("--process-id", type=int)
    parser.add_argument("--local-device-ids", type=_integers)
    parser.add_argument("--join-timeout", type=_seconds, default=300)


def join_by_flags(flags: argparse.Namespace) -> None:
    """Wait for the other processes of the job, if the flags say that there are any.

    Raises:
        UserError: some of the flags are missing, or as `join_processes`.
    """
    names = ("--coordinator", "--num-processes", "--process-id")
    values = (flags.coordinator, flags.num_processes, flags.process_id)
    missing = [name for name, value in zip(names, values, strict=True) if value is None]
    if 0 < len(missing) < len(names):
        raise UserError(f"{', '.join(missing)}: missing; the three belong together")
    if not missing or flags.distributed:
        join_processes(*values, flags.local_device_ids, flags.join_timeout)
    elif flags.local_device_ids is not None:
        raise UserError("--local-device-ids: only together with --distributed or --coordinator")


def _integers(text: str) -> list[int]:
    words = text.split(",")
    if not all(word.isdecimal() for word in words):
        raise argparse.ArgumentTypeError(f"must be numbers such as 0,1, got {text}")
    return [int(word) for word in words]


def _address(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not (host and port.isdecimal() and 0 < int(port) < 2**16):
        raise argparse.ArgumentTypeError(f"must be HOST:PORT, with a port up to 65535, got {text}")
    return text


def _seconds(text: str) -> int:
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"must be a whole number of seconds above 0, got {text}")
    return int(text)


def join_processes(
    coordinator: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: Sequence[int] | None = None,
    timeout: int = 300,
) -> None:
    """Wait until all processes of the job are there. Comes before anything else that uses a device.

    What is not given is asked of Slurm, Open MPI, Kubernetes or the cloud's TPU machines.

    Args:
        coordinator: `host:port` of process 0, reachable from all others.
        num_processes: how many there are.
        process_id: which of them this is, from 0 on.
        local_device_ids: devices of this machine that this process uses. If not given: one for each
            process of the machine under Slurm or Open MPI, and all of them elsewhere.
        timeout: seconds to wait for the others.

    Raises:
        UserError: who the others are cannot be found out, or the port of process 0 is not free.
        SystemExit: with status 1, from a thread, if the others do not come in time.
    """
    who = f"process {process_id} of {num_processes}" if num_processes else "this process"
    # On CPUs two programs of one process may else exchange with others in another order than there.
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    if coordinator is not None and process_id == 0:
        _check_free(int(coordinator.rpartition(":")[2]))
    try:
        with _deadline(timeout, f"error: {who} waited {timeout} s for the others. {_ADVICE}"):
            jax.distributed.initialize(
                coordinator,
                num_processes,
                process_id,
                local_device_ids=local_device_ids,
                initialization_timeout=timeout + 60,  # JAX would end with a dump of its memory
            )
    except (ValueError, RuntimeError) as error:  # JAX raises the second with any cause
        reason = first_line(error)
        if "coordinator_address should be defined" in reason:
            reason = "there is no job of Slurm, Open MPI, Kubernetes or a TPU pod here"
        raise UserError(
            f"the processes of this job cannot be joined: {reason}\n{_ADVICE}"
        ) from None


def _check_free(port: int) -> None:
    """Refuse a port that is taken, with which JAX would crash."""
    try:
        socket.create_server(("", port)).close()
    except OSError as error:
        raise UserError(
            f"--coordinator: port {port} of this machine cannot be used ({error.strerror}); "
            "give all processes another"
        ) from None


@contextmanager
def _deadline(seconds: float, message: str) -> Iterator[None]:
    """End the process, from a thread of its own, if the block takes longer."""

    def end() -> None:
        print(message, file=sys.stderr, flush=True)
        os._exit(1)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def is_leader() -> bool:
    """Whether this process writes what is written once."""
    return jax.process_index() == 0


def say(text: str) -> None:
    """Print a line once, however many processes there are."""
    if is_leader():
        print(text)


def agree(value: int) -> int:
    """What the leader says; every process has to ask."""
    if jax.process_count() == 1:
        return value
    return int(multihost_utils.broadcast_one_to_all(np.int32(value)))


def largest(value: int) -> int:
    """The largest of what the processes say; every process has to ask."""
    if jax.process_count() == 1:
        return value
    return int(np.max(multihost_utils.process_allgather(np.int32(value))))


def check_alike(text: str) -> None:
    """Refuse processes of one job that were told different things; every process has to ask.

    Raises:
        UserError: `text` differs from process to process.
    """
    if jax.process_count() > 1:
        digest = np.uint32(zlib.crc32(text.encode()))
        if len(np.unique(multihost_utils.process_allgather(digest))) > 1:
            raise UserError("the processes of this job have different configs; start all alike")


def on_leader(action: Callable[[], T]) -> T | None:
    """Do something in the leader only; where that fails, every process ends.

    Returns:
        The result; None in all other processes.
    """
    result, error = None, None
    if is_leader():
        try:
            result = action()
        except Exception as raised:  # whatever it is, the others must hear of it first
            error = raised
    failed = agree(error is not None)
    if error is not None:
        raise error
    if failed:
        raise UserError("process 0 says what is wrong")
    return result


@contextmanager
def ends_with_its_peers() -> Iterator[None]:
    """End this process, with status 1 and a sentence, when another one of the job has gone.

    At once: to leave in good order it would have to wait for the one that is gone.
    """
    try:
        yield
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        # What the exchange reports begins with a kind, as in "UNKNOWN: ", and is of either type.
        if jax.process_count() == 1 or not re.match("[A-Z_]+: ", str(error)):
            raise
        print(
            f"error: the exchange with the other processes failed: {first_line(error)}\n"
            "One of them has gone, most likely; the same command goes on from the last checkpoint.",
            file=sys.stderr,
            flush=True,
        )
        os._exit(1)


def fetch(tree: PyTree) -> PyTree:
    """Arrays that are divided over processes, whole and on the host; every process has to ask."""
    if jax.process_count() == 1:
        return jax.device_get(tree)
    return multihost_utils.process_allgather(tree, tiled=True)

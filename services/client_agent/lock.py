"""Locks between processes, on a file: held until the process lets go or dies, whichever way it dies."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fgpr.errors import LocalProtocolError
from fgpr.private_keys import FILE_MODE

HOME_LOCK = "lock"
"""In the home of an agent: held by the one agent that takes part in rounds with it."""


_GLANCES = 4
"""How often the lock is asked for, 20 ms apart: whoever only looks whether it is held holds it for a moment."""


@contextmanager
def held(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock `path`.

    Args:
        path: the file, made where there is none.
        wait: wait for another holder instead of giving up.

    Raises:
        LocalProtocolError: another process holds it.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    try:
        try:
            _take(descriptor, wait)
        except BlockingIOError:
            raise LocalProtocolError(
                f"another agent uses {path.parent}: two would contradict each other. Stop it, or name another home"
            ) from None
        yield
    finally:
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Whether a process holds the lock `path`; asking needs no right to write, and takes nobody's turn."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _take(descriptor: int, wait: bool) -> None:
    for left in reversed(range(_GLANCES)):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            if left == 0:
                raise
            time.sleep(0.02)
        else:
            return

"""Locks between processes, on a file: held until the process lets go or dies, whichever way it dies."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fgpr.errors import LocalProtocolError
from fgpr.private_keys import FILE_MODE

HOME_LOCK = "lock"
"""In the home of an agent: held by the one agent that takes part in rounds with it."""


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
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise LocalProtocolError(
                f"another agent uses {path.parent}: two would contradict each other. Stop it, or name another home"
            ) from None
        yield
    finally:
        os.close(descriptor)

"""Work in forked processes, some at once: each goes on from this very state, and leaves nothing behind in it."""

import os
import select
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

from kills.process import receive, send

T = TypeVar("T")


class Branch(Generic[T]):
    """One piece of work in a process of its own."""

    def __init__(self, work: Callable[[], T]) -> None:
        self.pipe, write = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self.pipe)
            try:
                send(write, (work(), None))
            except BaseException as error:
                send(write, (None, f"{type(error).__name__}: {error}"))
            finally:
                os._exit(0)
        os.close(write)

    def result(self) -> T:
        """What came of it.

        Raises:
            RuntimeError: it raised, or its process is gone.
        """
        try:
            made, error = receive(self.pipe)
        except EOFError:
            made, error = None, "its process ended without a word"
        self.end()
        if error is not None:
            raise RuntimeError(error)
        return made  # type: ignore[no-any-return]

    def end(self) -> None:
        """Let go of it."""
        os.close(self.pipe)
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def run_all(works: Sequence[Callable[[], T]], jobs: int) -> Iterator[tuple[int, T | RuntimeError]]:
    """Do all of it, at most `jobs` at once; place and result of each, in the order in which they end."""
    waiting, running = list(enumerate(works)), dict[int, tuple[int, Branch[T]]]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                place, work = waiting.pop(0)
                branch = Branch(work)
                running[branch.pipe] = place, branch
            for pipe in select.select(list(running), [], [])[0]:
                place, branch = running.pop(pipe)
                try:
                    yield place, branch.result()
                except RuntimeError as error:
                    yield place, error
    finally:
        for _, branch in running.values():
            branch.end()

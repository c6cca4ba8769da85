"""What can befall a request, and a database whose process can be killed at a commit."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection

from aggregator.storage.engine import Database


class Fault(StrEnum):
    """What befalls the next request that may have an effect."""

    NONE = "none"
    DROP_REQUEST = "drop request"
    DROP_RESPONSE = "drop response"
    CRASH_BEFORE = "crash before commit"
    CRASH_AFTER = "crash after commit"


CRASHES = frozenset({Fault.CRASH_BEFORE, Fault.CRASH_AFTER})


class Crash(BaseException):
    """The process was killed; not an `Exception`, so that nothing in the service handles it."""


@dataclass
class Fuse:
    """Kills the process at one of its commits.

    Attributes:
        commits: at which one, counted from 1.
        after: once it is durable; else just before, and nothing of it remains.
    """

    commits: int
    after: bool


class MortalDatabase(Database):
    """A database as one process sees it; once that is killed, whatever runs on in it reaches the database no more."""

    def __init__(self, url: str, before: "MortalDatabase | None" = None) -> None:
        super().__init__(url)
        if before is not None:
            # Its connections are closed; what is taken over is how statements are written, which takes long to find.
            self._engine = before.engine
        self.fuse: Fuse | None = None
        self._dead = False

    @property
    def dead(self) -> bool:
        """Whether its process was killed."""
        return self._dead

    @contextmanager
    def _begin(self, *, writes: bool) -> Iterator[Connection]:
        if self._dead:
            raise Crash
        with super()._begin(writes=writes) as connection:
            yield connection
            if writes and self.fuse is not None:
                self.fuse.commits -= 1
                if not self.fuse.commits and not self.fuse.after:
                    self._die()
        if writes and self.fuse is not None and not self.fuse.commits:
            self._die()

    def _die(self) -> None:
        self._dead = True
        raise Crash

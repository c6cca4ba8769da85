"""A replica is stopped at a statement or on either side of a commit; another one does its work; then it wakes."""

import signal
from collections.abc import Callable

from aggregator.storage import postgresql, sqlite
from kills.faults import Fault, StatementFaults
from kills.process import AggregatorProcess
from kills.script import Act
from kills.site import Site

SQLITE_WAIT_MS = 50
POSTGRESQL_IDLE_MS, POSTGRESQL_WAIT_MS = 100, 5_000
"""Instead of 15, 30 and 15 s: who sleeps inside a transaction loses it on PostgreSQL, and holds up SQLite."""


def impatient(patch: Callable[[], None]) -> Callable[[], None]:
    """What is done in each process: `patch`, and short times."""

    def prepare() -> None:
        patch()
        sqlite.WAIT_MS = SQLITE_WAIT_MS
        postgresql.IDLE_MS, postgresql.LOCK_WAIT_MS = POSTGRESQL_IDLE_MS, POSTGRESQL_WAIT_MS

    return prepare


class PauseFaults:
    """The replica stops itself at a statement, before a commit, or after one."""

    def enumerate(self, site: Site, act: Act) -> list[Fault]:
        """Every point."""
        return StatementFaults().enumerate(site, act)

    def inject(self, site: Site, act: Act, fault: Fault) -> bool:
        """Play an act with one pause."""
        paused = site.process
        assert paused is not None
        stops = 0

        def meanwhile() -> None:
            nonlocal stops
            stops += 1
            site.process = AggregatorProcess(site.settings, site.prepare)
            try:
                # Nobody had an answer: whoever asked asks again, elsewhere, and what became due is done there.
                act.play(site)
                site.operate("look")
            except AssertionError:
                # The one that sleeps holds the database.
                pass
            finally:
                site.process.kill()
                site.process = paused

        site.ask("arm", fault.at, signal.SIGSTOP)
        paused.when_stopped = meanwhile
        act.play(site)
        paused.when_stopped = None
        return stops == 1 and site.restarts == 0

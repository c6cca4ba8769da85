"""Closes overdue stages, settles aborted rounds, opens due ones and purges, without waiting for any request.

It also keeps the newest checkpoint beside the keys, where no backup of the database brings an older one back.

Safe with several replicas: each transition is a conditional update in a transaction of its own, so that the second of
two finds nothing to do.
"""

import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import structlog

from aggregator.service import restoring, schedule
from aggregator.service.context import Context
from fgpr.errors import FgprError

PURGE = "(purge)"
"""Stands for a federation's name where the purge fails; no federation can have it."""

REMEMBER = "(checkpoint)"
"""The same, where the newest checkpoint cannot be kept."""

T = TypeVar("T")

_log = structlog.get_logger(__name__)


class Deadlines:
    """A thread that looks every `tick` seconds for what is due.

    Args:
        context: this process.
        tick: seconds between two looks.
    """

    def __init__(self, context: Context, tick: float) -> None:
        self._context = context
        self._tick = tick
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="deadlines", daemon=True)
        self._faults: dict[str, str] = {}
        self._remembered = ""

    def start(self) -> None:
        """Begin to look; what became due while no process ran is done at once."""
        self._thread.start()

    def stop(self) -> None:
        """Stop, and wait for the look under way to end."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            self.look()
            self._stop.wait(self._tick)

    def look(self) -> None:
        """Do what is due in every federation, purge the database of what was erased, keep the newest checkpoint."""
        for name in self._try("", partial(schedule.names, self._context)) or []:
            # One federation that cannot go on must not keep the others from their deadlines.
            self._try(name, partial(schedule.advance, self._context, name))
        self._try(PURGE, self._context.database.purge)
        self._try(REMEMBER, self._remember)

    def _remember(self) -> None:
        note = restoring.newest_note(self._context)
        if note != self._remembered:
            self._context.keys.remember(note)
            self._remembered = note

    def _try(self, federation: str, act: Callable[[], T]) -> T | None:
        try:
            done = act()
        except FgprError as error:
            self._say(federation, type(error).__name__, str(error))
        except Exception as error:
            # Whatever fails now, the next deadline must still be kept.
            self._say(federation, type(error).__name__, "unforeseen")
        else:
            self._faults.pop(federation, None)
            return done
        return None

    def _say(self, federation: str, error: str, reason: str) -> None:
        # A reason that lasts is said once, not four times a second.
        if self._faults.get(federation) != reason:
            self._faults[federation] = reason
            _log.warning("deadlines", federation=federation, error=error, reason=reason)

"""Whether this process can do its work: database there, of its schema and epoch, and writable; keys readable.

Anybody may ask. So an answer names the part and what is wrong with it, and no path, key or database; the log has all.
"""

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import structlog

from aggregator.service import restoring
from aggregator.service.context import Context
from aggregator.storage import migrate, probe
from fgpr.errors import Conflict, FgprError, RequestError

KEPT_SECONDS = 1.0
"""How long an answer serves further askers: nobody signs for this question, and it writes to the disk."""

FIRST_SECONDS = 2.0
"""How long the first askers of all wait for the first look."""


IN_THE_LOG = "the aggregator's log says more"

WORDS = {
    "schema": f"the database does not have this program's schema; {IN_THE_LOG}",
    "epoch": f"the database's epoch cannot be read; {IN_THE_LOG}",
    "database": f"the database takes no writes; {IN_THE_LOG}",
    "keys": f"the service key cannot be read, or its file is not safe; {IN_THE_LOG}",
}
"""What anybody is told of a part that does not work, where the error was not written for whoever asks."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Readiness:
    """What was found, with a reason for each fault, fit for anybody's eyes."""

    faults: tuple[str, ...]

    @property
    def ready(self) -> bool:
        """Whether there is no fault."""
        return not self.faults


class ReadinessCheck:
    """Looks when asked, one look at a time.

    Args:
        context: this process.
        clock: seconds that never run backwards.
        epoch: that this process began in; None for any.
    """

    def __init__(self, context: Context, clock: Callable[[], float] = time.monotonic, epoch: str | None = None) -> None:
        self._context = context
        self._epoch = epoch
        self._clock = clock
        self._looking = threading.Lock()
        self._last = Readiness(("the first look is under way",))
        self._at = float("-inf")
        self._logged: list[str] = []

    def look(self) -> Readiness:
        """What a look found that is no older than `KEPT_SECONDS`, or the last one while another look is under way.

        Where there is no last one, the first one is waited for, but no longer than `FIRST_SECONDS`.
        """
        first = self._at == float("-inf")
        # A database that does not answer holds one thread with this question, not all of them.
        if self._stale() and self._looking.acquire(timeout=FIRST_SECONDS if first else 0):
            try:
                if self._stale():
                    self._last = Readiness(tuple(self._faults()))
                    self._at = self._clock()
            finally:
                self._looking.release()
        return self._last

    def _stale(self) -> bool:
        return self._clock() - self._at >= KEPT_SECONDS

    def _faults(self) -> list[str]:
        told, logged = [], []
        checks: dict[str, Callable[[], None]] = {
            "schema": partial(migrate.check_schema, self._context.database),
            "epoch": self._check_epoch,
            "database": self._write,
            "keys": self._context.keys.check,
        }
        for part, check in checks.items():
            try:
                check()
            except FgprError as error:
                told.append(f"{part}: {error if isinstance(error, RequestError) else WORDS[part]}")
                logged.append(f"{part}: {error}")
            except Exception as error:
                # Whoever asks wants an answer; what an unforeseen exception says is too much, even for a log.
                told.append(f"{part}: {WORDS[part]}")
                logged.append(f"{part}: {type(error).__name__}")
        self._tell(logged)
        return told

    def _tell(self, faults: list[str]) -> None:
        # Probes come every few seconds: a line for each change is enough.
        if faults and faults != self._logged:
            _log.warning("not ready", reason="; ".join(faults))
        elif self._logged and not faults:
            _log.warning("ready again")
        self._logged = faults

    def _check_epoch(self) -> None:
        # Its clients sign for an epoch that is no more, and would not be told so by it.
        if self._epoch is not None and restoring.epoch(self._context) != self._epoch:
            raise Conflict("a backup was restored since this process started: restart it")

    def _write(self) -> None:
        with self._context.database.write() as connection:
            probe.write_and_remove(connection, secrets.token_hex(16), self._context.clock())

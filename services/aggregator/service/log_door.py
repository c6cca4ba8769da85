"""In front of the audit log and the rosters in it: open to everybody, or to whoever is enrolled here."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from aggregator.service.admission import authorise_anybody
from aggregator.service.caller import Caller
from aggregator.service.context import Context
from aggregator.service.together import Together, judged
from aggregator.storage import federations
from aggregator.storage.engine import Connection
from fgpr.errors import FgprError, Unauthenticated

T = TypeVar("T")


@dataclass(frozen=True)
class LogDoor:
    """The door for one request.

    Attributes:
        context: this process.
        caller: who signed the request; None where nobody did.
        together: others who ask the same.
    """

    context: Context
    caller: Caller | None
    together: Together

    async def read(self, find: Callable[[Connection], T], *question: Hashable) -> T:
        """What `find` gives in a transaction that reads, for a caller who may.

        Args:
            find: reads, for everybody who asks this.
            question: all that its result depends on beside the database.

        Raises:
            Unauthenticated: a federation closed the log, and the request is not signed by a key that is enrolled here.
            Forbidden: the key is revoked or was replaced.
        """
        return await self.together.ask(("log", *question), self.caller, partial(self._look, find))

    def _look(self, find: Callable[[Connection], T], callers: Sequence[Caller | None]) -> Sequence[T | FgprError]:
        with self.context.database.read() as connection:
            admit = partial(_admit, connection, federations.log_is_public(connection))
            return judged(admit, callers, partial(find, connection))


def _admit(connection: Connection, public: bool, caller: Caller | None) -> None:
    if public:
        return
    if caller is None:
        raise Unauthenticated("the audit log here is not public: sign the request with a key that is enrolled")
    authorise_anybody(connection, caller)

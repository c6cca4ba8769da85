"""In front of the audit log and the rosters in it: open to everybody, or to whoever is enrolled here."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from aggregator.service.admission import authorise_anybody
from aggregator.service.caller import Caller
from aggregator.service.context import Context
from aggregator.storage import federations
from aggregator.storage.engine import Connection
from fgpr.errors import Unauthenticated


@dataclass(frozen=True)
class LogDoor:
    """The door for one request.

    Attributes:
        context: this process.
        caller: who signed the request; None where nobody did.
    """

    context: Context
    caller: Caller | None

    @contextmanager
    def open(self) -> Iterator[Connection]:
        """A transaction that reads, for a caller who may.

        Raises:
            Unauthenticated: a federation closed the log, and the request is not signed by a key that is enrolled here.
            Forbidden: the key is revoked or was replaced.
        """
        with self.context.database.read() as connection:
            if not federations.log_is_public(connection):
                if self.caller is None:
                    raise Unauthenticated(
                        "the audit log here is not public: sign the request with a key that is enrolled"
                    )
                authorise_anybody(connection, self.caller)
            yield connection

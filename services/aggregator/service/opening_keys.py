"""Clients' opening keys are taken up with their leaf; the plan that names one shows it whole."""

from aggregator.service import audit
from aggregator.service.context import Context
from aggregator.storage import clients
from aggregator.storage.engine import Connection
from fgpr.auditlog.entries import OpeningKeyRegistered
from fgpr.message import Signed
from fgpr.secagg.messages import OpeningKey


def register(context: Context, connection: Connection, *signed: Signed[OpeningKey]) -> None:
    """Take up clients' opening keys, in the caller's transaction; nothing happens to one whose serial is known.

    Raises:
        Conflict: the same key was used before.
    """
    new = [one.message for one in signed if clients.add_opening_key(connection, one)]
    leaves = [
        OpeningKeyRegistered(federation=key.federation, client=key.client, serial=key.serial, key=key.digest())
        for key in new
    ]
    if leaves:
        audit.record(context, connection, leaves)

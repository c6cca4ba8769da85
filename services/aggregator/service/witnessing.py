"""Which checkpoint enough members cosigned: where a federation asks for witnesses, priors under it are published."""

from dataclasses import dataclass

from aggregator.service import audit
from aggregator.service.context import Context
from aggregator.service.rounds import roster_of
from aggregator.storage import rounds
from aggregator.storage.engine import Connection
from aggregator.storage.rounds import RoundRow
from fgpr.auditlog import checkpoint, cosignature
from fgpr.rest import CosignedCheckpoint
from fgpr.secagg.witnessing import cosigned_checkpoint

MOST_ROUNDS = 50
"""Newest rounds among which a cosigned checkpoint is looked for."""


@dataclass(frozen=True)
class Witnessed:
    """A checkpoint that enough members cosigned.

    Attributes:
        size: of the log.
        cosigned: to show.
    """

    size: int
    cosigned: CosignedCheckpoint


def newest(context: Context, connection: Connection, federation: str, witnesses: int) -> Witnessed | None:
    """The newest checkpoint that this many members cosigned; None where there is none among the newest rounds."""
    for row in rounds.read_list(connection, federation, limit=MOST_ROUNDS):
        found = _of_round(context, connection, row, witnesses)
        if found is not None:
            return found
    return None


def _of_round(context: Context, connection: Connection, row: RoundRow, witnesses: int) -> Witnessed | None:
    if row.cohort is None or rounds.count_openings(connection, row.federation, row.number) < witnesses:
        return None
    roster = roster_of(connection, row)
    cosigned = {}
    for client, signed in rounds.read_openings(connection, row.federation, row.number).items():
        entry = roster.entry(client)
        if signed.message.cosignature is not None and entry is not None:
            name = cosignature.name_of(row.federation, client)
            cosigned[name] = (entry.identity_key, signed.message.cosignature)
    if len(cosigned) < witnesses:
        return None
    seen = cosigned_checkpoint(row.cohort.message, context.service_public())
    signed_by_log = checkpoint.sign(seen, audit.log_name(context), context.keys.service())
    # As many as are asked for: a note takes a hundred lines, and nobody needs more.
    note = cosignature.with_cosignatures(signed_by_log, dict(sorted(cosigned.items())[:witnesses]))
    version = row.plan.message.roster_version
    return Witnessed(seen.size, CosignedCheckpoint(note=note, roster_version=version))

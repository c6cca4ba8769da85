"""A database that a backup took the place of: its new epoch, and what it must not have lost.

The log says what happened. A backup that is older than a checkpoint which anybody holds has lost some of that:
enrolments, revocations and replaced keys among it. The aggregator keeps the newest checkpoint beside its keys, outside
the database, and does not start on a log that does not continue it.
"""

import base64

from aggregator.service import audit
from aggregator.service.context import Context
from aggregator.storage import installation, log
from fgpr import merkle
from fgpr.auditlog import checkpoint
from fgpr.auditlog.entries import EpochBegun
from fgpr.errors import DataError, FgprError, VerificationError

EPOCH_BYTES = 16

_ADVICE = (
    "Name the database of these keys (--database), or put its newest backup in place with `fgpr-aggregator restore "
    "FILE`; only where nobody has the missing entries any more, `restore` goes on without them with --lose-entries"
)


def epoch(context: Context) -> str:
    """The present epoch."""
    with context.database.read() as connection:
        return installation.read_epoch(connection)


def begin_epoch(context: Context) -> str:
    """Begin another epoch, after a backup was put in place; the epoch."""
    made = base64.urlsafe_b64encode(context.random_bytes(EPOCH_BYTES)).rstrip(b"=").decode("ascii")
    with context.database.write() as connection:
        installation.begin_epoch(connection, made, context.clock())
        audit.record(context, connection, [EpochBegun(epoch=made)])
    return made


def check_keys(context: Context) -> None:
    """Check that the keys here are those with which this database began.

    Raises:
        CryptographicError: another service key signs its log.
        UnknownResource: the log was never started.
    """
    with context.database.read() as connection:
        audit.check_signer(context, connection)


def newest_note(context: Context) -> str:
    """The newest signed checkpoint.

    Raises:
        UnknownResource: the log was never started.
    """
    with context.database.read() as connection:
        return log.read_head(connection)[1]


def check_continues(context: Context, note: str, where: str) -> None:
    """Check that this log continues a checkpoint of it that is kept outside the database.

    Args:
        context: this process.
        note: the signed checkpoint.
        where: where it is kept.

    Raises:
        DataError: the checkpoint is none of this aggregator.
        VerificationError: the log is older, or has another history.
    """
    public = context.service_public()
    try:
        kept = checkpoint.open_note(note, checkpoint.name_of(public), public)
    except FgprError as error:
        raise DataError(
            f"the known checkpoint ({where}) is none of this aggregator: {error}; put the right one there, or take it "
            "away if there is none"
        ) from error
    with context.database.read() as connection:
        size = log.read_head(connection)[0].size
        if kept.size > size:
            raise VerificationError(
                f"the audit log has {size} leaves, and a checkpoint of {kept.size} is known ({where}): this is an "
                f"older backup, or another database. {_ADVICE}"
            )
        if merkle.frontier(kept.size, log.node_reader(connection)).root() != kept.root:
            raise VerificationError(
                f"the first {kept.size} leaves of the audit log are not those of the checkpoint that is known "
                f"({where}): this is another history. {_ADVICE}"
            )

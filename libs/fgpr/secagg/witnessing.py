"""Members as witnesses of the audit log: with its opening each cosigns the checkpoint of the cohort that it opened.

A member found that checkpoint to be one of the log that it follows (check 6 of a cohort). Who shows another history to
somebody else needs cosignatures of members for that one, too.
"""

from collections.abc import Iterable

from fgpr.auditlog import checkpoint, cosignature
from fgpr.auditlog.checkpoint import Checkpoint
from fgpr.errors import VerificationError
from fgpr.secagg.messages import Cohort
from fgpr.secagg.roster import Roster


def cosigned_checkpoint(cohort: Cohort, service_key: bytes) -> Checkpoint:
    """The checkpoint that members cosign with their openings of this cohort, under the log's name.

    Args:
        cohort: the cohort.
        service_key: the aggregator's public key, 32 bytes, by which its log is named.
    """
    return Checkpoint(checkpoint.name_of(service_key), cohort.checkpoint.size, cohort.checkpoint.root)


def check_cosignatures(
    roster: Roster, cohort: Cohort, cosigned: Iterable[tuple[str, bytes | None]], service_key: bytes
) -> None:
    """Check what members sent beside their openings of a cohort.

    Args:
        roster: of the round.
        cohort: the cohort that was opened.
        cosigned: members and their cosignatures, 72 bytes each; None where one sent none.
        service_key: the aggregator's public key, 32 bytes.

    Raises:
        VerificationError: one is not its member's of this cohort's checkpoint, there is none, or there is one beside an
            opening of nobody.
    """
    seen = cosigned_checkpoint(cohort, service_key)
    for client, value in cosigned:
        if (value is None) != (not cohort.members):
            raise VerificationError(
                f"{client} cosigns the checkpoint of a cohort that it opens, and none with the empty cohort"
            )
        if value is not None:
            cosignature.verify(seen, roster.identity_key(client), value)

"""What a federation in memory logs beside its rounds, so that its log can be verified from the first leaf."""

from collections.abc import Mapping

from fgpr.auditlog import entries
from fgpr.auditlog.trail import Trail
from fgpr.auditlog.verification import verify_trail
from fgpr.message import Signed
from fgpr.secagg.checked_plan import Anchors
from fgpr.secagg.messages import Opening, OpeningKey
from support.client import NAME, Client
from support.log import Log

EXPIRES = "2031-03-09T21:30:00.000Z"


def enrol(log: Log, client: Client, ticket: bytes, weight: int | None, key: Signed[OpeningKey]) -> None:
    """A client's ticket, enrolment and first opening key."""
    name = client.name
    log.append(
        entries.TicketIssued(federation=NAME, client=name, role="client", ticket=ticket, expires=EXPIRES, by=None)
    )
    log.append(
        entries.Enrolled(
            federation=NAME,
            client=name,
            role="client",
            ticket=ticket,
            identity_key=client.public_key(),
            declared=None if weight is None else client.declare(weight),
        )
    )
    register(log, key)


def register(log: Log, signed: Signed[OpeningKey]) -> None:
    """A further opening key."""
    key = signed.message
    log.append(entries.OpeningKeyRegistered(federation=NAME, client=key.client, serial=key.serial, key=key.digest()))


def answered(openings: Mapping[str, Signed[Opening]]) -> tuple[entries.AnsweredOpening, ...]:
    """Openings as a leaf names them."""
    return tuple(
        entries.AnsweredOpening(client=name, opening=signed.message.digest(), cosignature=signed.message.cosignature)
        for name, signed in openings.items()
    )


def verified(log: Log, anchors: Anchors) -> Trail:
    """The log, verified from its first leaf."""
    return verify_trail(log.leaves, log.position(), anchors.service_key, {NAME: anchors.roster_key})

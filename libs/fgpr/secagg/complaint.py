"""Complaints: a member's signed word that boxes of a closed cohort do not open for it.

A complaint is made only after every check of the cohort but 8 has passed, so that the box is the one that its sender
signed, sealed under this plan for this seat. It proves nothing by itself: a lying member can complain of anybody. More
members of one round than may be corrupt complain together only where at least one of them is honest, and an honest
client's boxes open for honest members: whoever they accuse did lie (docs/protocol.md, Complaints).

A complaint is no opening: its member may still answer the empty cohort, whatever becomes of the round.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr import merkle
from fgpr.errors import LocalProtocolError, RemoteProtocolError
from fgpr.message import Signed
from fgpr.secagg.checked_plan import CheckedPlan
from fgpr.secagg.messages import AccusedBox, Cohort, CohortView, Complaint, Plan
from fgpr.secagg.planning import committee_of
from fgpr.secagg.roster import Roster


def complain(
    checked: CheckedPlan, view: CohortView, client: str, identity_key: Ed25519PrivateKey, accused: Sequence[str]
) -> Signed[Complaint]:
    """The complaint of a member; the same bytes each time.

    Args:
        checked: the plan of the round.
        view: the cohort that `fgpr.secagg.member.open_cohort` refused by check 8.
        client: the member.
        identity_key: its identity key.
        accused: the clients that the refusal names.

    Raises:
        LocalProtocolError: the client has no seat, or nobody in the cohort is accused.
    """
    seat, cohort = checked.plan.seat_of(client), view.cohort.message
    entries = [entry for entry in view.entries if entry.header.message.client in accused]
    if seat is None or not entries:
        raise LocalProtocolError(f"{client} has nothing to complain of in round {checked.plan.round}")
    complaint = Complaint(
        federation=cohort.federation,
        round=cohort.round,
        plan=checked.digest,
        cohort=cohort.digest(),
        client=client,
        seat=seat,
        boxes=tuple(
            AccusedBox(header=entry.header, box=merkle.leaf_hash(entry.box), path=entry.path) for entry in entries
        ),
    )
    return Signed[Complaint].make(identity_key, complaint)


def check_complaint(plan: Plan, roster: Roster, cohort: Cohort, signed: Signed[Complaint]) -> None:
    """Check that a complaint is a member's, of boxes that counted clients signed for its seat.

    Raises:
        RemoteProtocolError: the client has no seat with a key, or the complaint is of something else.
        VerificationError: a signature in it does not hold, or a box is not under its header's root.
    """
    complaint = signed.message
    seat = plan.seat_of(complaint.client)
    if seat is None or plan.seats[seat - 1].key is None:
        raise RemoteProtocolError(f"{complaint.client} got no boxes in round {plan.round}: it has no seat with a key")
    _require(
        (complaint.federation, complaint.round, complaint.plan, complaint.cohort)
        == (cohort.federation, cohort.round, cohort.plan, cohort.digest()),
        "the complaint is of another cohort",
    )
    _require(complaint.seat == seat, f"{complaint.client} has seat {seat}, not {complaint.seat}")
    signed.verify(roster.identity_key(complaint.client))
    accused, counted = complaint.accused(), {member.client: member.header for member in cohort.members}
    _require(list(accused) == sorted(set(accused)), "a client is accused twice, or they are not in order")
    for box in complaint.boxes:
        header = box.header.message
        _require(counted.get(header.client) == header.digest(), f"{header.client}'s header is not the counted one")
        box.header.verify(roster.identity_key(header.client))
        merkle.verify_inclusion(box.box, seat - 1, len(plan.seats), box.path, header.boxes)


def convicted(plan: Plan, roster: Roster, complaints: Iterable[Complaint]) -> tuple[str, ...]:
    """The clients that did lie: those whom more than x members of one round accuse; in order.

    Args:
        plan: the round's plan.
        roster: the roster that it names.
        complaints: checked complaints of that round.
    """
    by_member = {complaint.client: complaint.accused() for complaint in complaints}
    accusers = Counter(client for accused in by_member.values() for client in accused)
    corrupt = committee_of(plan, roster).corrupt_seats
    return tuple(sorted(client for client, count in accusers.items() if count > corrupt))


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise RemoteProtocolError(reason)

"""A committee member: the numbered checks of a cohort, and its opening.

1.  the plan is the one of this round that this client checked and remembers, and it holds a seat and the seat's
    private key
2.  no plan of a later round was seen (the empty cohort may be opened late: it reveals nothing)
3.  the service key signed the cohort, and it is of this plan
4.  every counted client is invited, none stands twice, they are in order of their ids
5.  the cohort has at least min_cohort clients, the plan's and the member's own, in each group that it counts, and
    counts enough groups, or nobody at all
6.  every header is of this plan and signed by its client's identity key, and no client counted was revoked in the
    log's leaves from the roster's checkpoint through the plan's to the cohort's, which is the log that the client
    knows; it reads each leaf once and remembers whom they revoke while the roster stays
7.  every box is under its header's Merkle root at the member's seat
8.  every box opens under this plan, sender and seat
9.  no other cohort was opened in this round
10. against each cohort opened for the same theta, but those of rounds that a plan proved void, each side of the
    difference of each two of their groups that share a client is empty or has K + 2 clients, with the larger K of the
    two rounds

Check 8 comes last: where it fails, the boxes are the signed ones and do not open, and the member complains of them
(`fgpr.secagg.complaint`). The member writes which cohort it opened before it
answers. A member whose disk was rolled back counts as corrupt.

With its answer to a cohort of clients the member cosigns that cohort's checkpoint, which check 6 found to be one of the
log that it follows: it is a witness of the log.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr import merkle
from fgpr.auditlog import cosignature
from fgpr.errors import CohortRefused, FgprError
from fgpr.message import Signed
from fgpr.secagg import envelope
from fgpr.secagg.checked_plan import CheckedPlan
from fgpr.secagg.contributor import FIELD
from fgpr.secagg.groups import fewest_groups
from fgpr.secagg.history import Floors, History, Revocations
from fgpr.secagg.log_span import LogSpan, read
from fgpr.secagg.messages import Cohort, CohortEntry, CohortView, Opening, OpeningKey
from fgpr.secagg.planning import committee_of
from fgpr.secagg.suites import PrivateHalf
from fgpr.secagg.void_proof import is_proven_void
from fgpr.secagg.witnessing import cosigned_checkpoint


@dataclass(frozen=True, repr=False)
class Member:
    """A client that holds a seat, with its secrets.

    Attributes:
        client: its id.
        identity_key: signs its openings.
        opening_key: private half of the key in its seat; None where it no longer has it.
    """

    client: str
    identity_key: Ed25519PrivateKey
    opening_key: PrivateHalf | None


@dataclass(frozen=True)
class OpenedCohort:
    """What comes of opening a cohort; write down both before the opening is sent.

    Attributes:
        opening: the answer.
        revocations: takes the place of the history's; the same where the cohort is empty.
    """

    opening: Signed[Opening]
    revocations: Revocations | None


def open_cohort(
    checked: CheckedPlan,
    view: CohortView,
    span: LogSpan,
    member: Member,
    next_key: Signed[OpeningKey],
    *,
    service_key: bytes,
    history: History,
    floors: Floors,
    revoked_by: Callable[[bytes], str | None],
    seconds: int,
) -> OpenedCohort:
    """Check a cohort and answer it with the sum of this member's shares.

    Args:
        checked: the plan of the round.
        view: the cohort, its headers, and this member's boxes.
        span: the log's leaves from `span_start` to the cohort's checkpoint; not read for the empty cohort.
        member: who opens.
        next_key: its next opening key, signed.
        service_key: the aggregator's public key, 32 bytes.
        history: what the member remembers, this round included.
        floors: what its owner asks for.
        revoked_by: the client that a log leaf revokes, or None; the log's format is not known here.
        seconds: the present time, since 1970; it stands in the cosignature and decides nothing.

    Raises:
        CohortRefused: names the check that failed, and where boxes do not open their senders; nothing is opened.
    """
    # (1)
    seat = checked.plan.seat_of(member.client)
    if seat is None:
        raise CohortRefused(1, f"{member.client} has no seat in round {checked.plan.round}")
    past = history.round(checked.plan.round)
    _require(
        1,
        past is not None and past.plan.digest() == checked.digest,
        f"this plan of round {checked.plan.round} is not the one that {member.client} remembers",
    )
    cohort = check_cohort(checked, view.cohort, service_key=service_key, history=history, floors=floors)
    plan = checked.plan
    sums = np.zeros((plan.groups, checked.codec.length), dtype=np.uint64)
    revocations, cosigned = history.revocations, None
    if cohort.members:
        opening_key = _key_of_seat(checked, seat, member)
        with _failing(6):
            revocations = read(checked, cohort, span, history, revoked_by)
        _check_entries(checked, cohort, seat, view.entries, revocations.clients)
        shares = _shares(checked, view.entries, seat, opening_key, checked.codec.length)
        for number, clients in enumerate(plan.parts(cohort.clients())):
            for client in clients:
                sums[number] = FIELD.add(sums[number], shares[client])
        cosigned = cosignature.cosign(cosigned_checkpoint(cohort, service_key), member.identity_key, seconds)
    opening = Opening(
        federation=cohort.federation,
        round=cohort.round,
        cohort=cohort.digest(),
        client=member.client,
        sum=FIELD.to_bytes(sums.reshape(-1)),
        next_key=next_key,
        cosignature=cosigned,
    )
    return OpenedCohort(Signed[Opening].make(member.identity_key, opening), revocations)


def check_cohort(
    checked: CheckedPlan,
    signed: Signed[Cohort],
    *,
    service_key: bytes,
    history: History,
    floors: Floors,
) -> Cohort:
    """Checks 2 to 5, 9 and 10: those that need no header, box or log.

    Raises:
        CohortRefused: names the check that failed.
    """
    plan, cohort = checked.plan, signed.message
    counted = [entry.client for entry in cohort.members]
    # (2)
    _require(2, not counted or history.last_round <= plan.round, f"a plan of round {history.last_round} was seen")
    # (3)
    with _failing(3):
        signed.verify(service_key)
    _require(
        3,
        (cohort.federation, cohort.round, cohort.plan) == (plan.federation, plan.round, checked.digest),
        "it is of another plan",
    )
    # (4)
    strangers = sorted(set(counted) - set(plan.invited))
    _require(4, not strangers, f"{', '.join(strangers)} not invited")
    _require(4, counted == sorted(set(counted)), "a client stands twice, or they are not in order")
    # (5)
    least = max(plan.min_cohort, floors.min_cohort)
    parts = [part for part in plan.parts(cohort.clients()) if part]
    smallest = min(map(len, parts), default=0)
    together = "" if plan.groups == 1 else " in a group"
    _require(5, not counted or smallest >= least, f"{smallest} clients{together}, at least {least} are needed")
    enough = fewest_groups(plan.groups)
    _require(5, not counted or len(parts) >= enough, f"{len(parts)} groups, at least {enough} are needed")
    # (9)
    past = history.round(plan.round)
    if past is not None and past.opened is not None:
        _require(9, past.opened.digest() == cohort.digest(), f"another cohort of round {plan.round} was opened")
    # (10)
    if counted:
        seen = [past.plan for past in history.rounds]
        for other_round, other in history.opened_for(plan.theta_version):
            # A sum that can never be learned is no sum to be compared with.
            if other_round.plan.round != plan.round and not is_proven_void(other_round, seen, service_key):
                corrupt = committee_of(other_round.plan, other_round.roster).corrupt_group
                least = max(checked.committee.corrupt_group, corrupt) + 2
                for part, opened in product(parts, other_round.plan.parts(other.clients())):
                    if not set(part).isdisjoint(opened):
                        check_difference(frozenset(part), frozenset(opened), least)
    return cohort


def check_difference(cohort: frozenset[str], other: frozenset[str], least: int) -> None:
    """Check 10: what two sums of the same theta differ by must itself be a sum over enough clients.

    Raises:
        CohortRefused: one side of the difference has between 1 and `least` - 1 clients.
    """
    for side in (cohort - other, other - cohort):
        _require(
            10,
            not side or len(side) >= least,
            f"it and one opened for the same theta differ by {len(side)} client(s); at least {least} or none are safe",
        )


def _key_of_seat(checked: CheckedPlan, seat: int, member: Member) -> PrivateHalf:
    named, held = checked.plan.seats[seat - 1].key, member.opening_key
    if named is None or held is None or held.public_key().public_bytes_raw() != named.message.key:
        raise CohortRefused(1, "the private half of the key in this seat is not here; stay silent in this round")
    return held


def _check_entries(
    checked: CheckedPlan,
    cohort: Cohort,
    seat: int,
    entries: Sequence[CohortEntry],
    revoked: frozenset[str],
) -> None:
    # (6)
    gone = sorted(revoked & cohort.clients())
    _require(6, not gone, f"{', '.join(gone)} revoked before the cohort's checkpoint")
    _require(6, len(entries) == len(cohort.members), f"{len(entries)} entries for {len(cohort.members)} clients")
    for counted, entry in zip(cohort.members, entries, strict=True):
        header = entry.header.message
        _require(
            6,
            (header.client, header.plan, header.digest()) == (counted.client, checked.digest, counted.header),
            f"{counted.client}'s header is not the counted one",
        )
        with _failing(6):
            entry.header.verify(checked.roster.identity_key(counted.client))
    # (7)
    for entry in entries:
        with _failing(7):
            merkle.verify_inclusion(
                merkle.leaf_hash(entry.box), seat - 1, len(checked.plan.seats), entry.path, entry.header.message.boxes
            )


def _shares(
    checked: CheckedPlan, entries: Sequence[CohortEntry], seat: int, opening_key: PrivateHalf, length: int
) -> dict[str, np.ndarray]:
    # (8), of every box before the first is complained of: one complaint names them all.
    shares, faults = {}, {}
    for entry in entries:
        sender = entry.header.message.client
        info = envelope.box_info(checked.digest, sender, checked.roster.identity_key(sender), seat)
        try:
            shares[sender] = FIELD.from_bytes(envelope.open_box(entry.box, opening_key, info), length)
        except FgprError as error:
            faults[sender] = str(error)
    if faults:
        raise CohortRefused(8, "; ".join(f"{name}: {fault}" for name, fault in faults.items()), tuple(faults))
    return shares


def _require(check: int, holds: bool, reason: str) -> None:
    if not holds:
        raise CohortRefused(check, reason)


@contextmanager
def _failing(check: int) -> Iterator[None]:
    try:
        yield
    except FgprError as error:
        raise CohortRefused(check, str(error)) from error

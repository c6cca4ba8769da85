"""The aggregator's part: accept contributions and openings, fix the cohort, unmask its sum.

What is checked here protects honest clients from each other; what protects them from the aggregator is checked by
themselves (`checked_plan`, `member`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fgpr import canonical
from fgpr.errors import EncodingError, OpeningsContradict, RemoteProtocolError, SumRefused
from fgpr.message import Signed
from fgpr.secagg import envelope, shamir
from fgpr.secagg.combination import combine_sums
from fgpr.secagg.contributor import FIELD, boxes_root, masked_digest
from fgpr.secagg.groups import fewest_groups
from fgpr.secagg.messages import (
    Cohort,
    CohortMember,
    Contribution,
    Header,
    LogPosition,
    Opening,
    OpeningKey,
    Plan,
)
from fgpr.secagg.roster import Roster
from fgpr.secagg.suites import SUITES

HASH_ORDER_LABEL = "fgpr-v1/left-out"


@dataclass(frozen=True)
class Unmasked:
    """The opened sums of one cohort.

    Attributes:
        vector: the sum of the encoded updates of each group, shape [G (L + 1)], field elements; zeros for a group that
            is not counted or could not be opened.
        average: the weighted average of the cohort, or that of its groups, combined; shape [L].
        total_weight: the sum of the weights.
        disputed: members whose opening or a share in it was wrong; no proof of a lying member.
        spare: openings above the threshold. Another sum than the true one takes spare + 1 wrong openings at least, less
            the disputed ones; at 0 a single member could have shifted it unseen.
        refused: numbers of the counted groups that have no honest average and went into nothing.
        clamped: names of averages that noise carried out of their bounds; only under differential privacy.
    """

    vector: np.ndarray
    average: np.ndarray
    total_weight: int
    disputed: tuple[str, ...]
    spare: int
    refused: tuple[int, ...] = ()
    clamped: tuple[str, ...] = ()


def check_contribution(plan: Plan, plan_digest: bytes, roster: Roster, contribution: Contribution) -> None:
    """Check an upload against the plan.

    Raises:
        RemoteProtocolError: the client is not invited, or the parts do not fit the plan or each other.
        EncodingError: the masked vector does not have its length, or leaves the field.
        VerificationError: the header is not signed by the client's identity key.
    """
    header = contribution.header.message
    _require(header.client in plan.invited, f"{header.client} is not invited to round {plan.round}")
    _require(
        (header.federation, header.round, header.plan) == (plan.federation, plan.round, plan_digest),
        "the header is of another plan",
    )
    contribution.header.verify(roster.identity_key(header.client))
    FIELD.from_bytes(contribution.masked, _length(plan))
    _require(masked_digest(contribution.masked) == header.masked, "the masked vector is not the signed one")
    _require(
        len(contribution.boxes) == len(plan.seats),
        f"{len(contribution.boxes)} boxes for {len(plan.seats)} seats",
    )
    full = len(contribution.masked) + SUITES[plan.suite].overhead
    for seat, box in zip(plan.seats, contribution.boxes, strict=True):
        wanted = 0 if seat.key is None else full
        # A reason for each box would take longer to write than the boxes to compare.
        if len(box) != wanted:
            raise RemoteProtocolError(f"the box of {seat.client} has {len(box)} bytes, not {wanted}")
    _require(boxes_root(contribution.boxes) == header.boxes, "the boxes are not the signed ones")


def close(
    plan: Plan,
    plan_digest: bytes,
    headers: Mapping[str, Header],
    checkpoint: LogPosition,
    opened: Sequence[frozenset[str]] = (),
    least: int = 0,
) -> Cohort | None:
    """Fix S, group by group; a group in which too few can be counted is left out whole.

    Args:
        plan: the round's plan.
        plan_digest: its digest, 32 bytes.
        headers: headers of the contributions by unrevoked clients.
        checkpoint: the last checkpoint of the log before the closing leaf.
        opened: the cohorts that may have been opened for the same theta, where that was carried.
        least: K + 2, the fewest clients that a difference from one of them may have.

    Returns:
        The cohort to sign, or None where too few clients can be counted.
    """
    before = [plan.parts(earlier) for earlier in opened]
    counted = [
        _countable(plan, set(part), [set(parts[number]) for parts in before], least)
        for number, part in enumerate(plan.parts(headers))
    ]
    groups = [part for part in counted if part]
    if len(groups) < fewest_groups(plan.groups):
        return None
    return cohort_of(plan, plan_digest, {name: headers[name] for part in groups for name in part}, checkpoint)


def _countable(plan: Plan, came: set[str], opened: Sequence[set[str]], least: int) -> set[str]:
    """Whom of one group the cohort may count; nobody where that would be too few."""
    counted = came.intersection(*opened)
    ordered = sorted(counted, key=lambda name: canonical.digest(HASH_ORDER_LABEL, [plan.round, name]))
    # Leaving one more out for one of the earlier cohorts changes the difference from the others.
    while counted and any(0 < len(earlier - counted) < least for earlier in opened):
        counted.remove(ordered.pop())
    return counted if len(counted) >= plan.min_cohort else set()


def cohort_of(plan: Plan, plan_digest: bytes, headers: Mapping[str, Header], checkpoint: LogPosition) -> Cohort:
    """The cohort of exactly these headers; of none after an abort."""
    members = tuple(CohortMember(client=name, header=headers[name].digest()) for name in sorted(headers))
    return Cohort(
        federation=plan.federation, round=plan.round, plan=plan_digest, checkpoint=checkpoint, members=members
    )


def check_opening(plan: Plan, roster: Roster, cohort: Cohort, signed: Signed[Opening]) -> None:
    """Check a member's answer to a cohort.

    Raises:
        RemoteProtocolError: the client has no seat, the answer is to another cohort, or its next key could not stand
            in the next plan.
        EncodingError: the sum does not have its length, or leaves the field.
        VerificationError: a signature in it is not the member's.
        CryptographicError: nobody could seal for its next key.
    """
    answer = signed.message
    _require(plan.seat_of(answer.client) is not None, f"{answer.client} has no seat in round {plan.round}")
    _require(
        (answer.federation, answer.round, answer.cohort) == (cohort.federation, cohort.round, cohort.digest()),
        "the opening is of another cohort",
    )
    signed.verify(roster.identity_key(answer.client))
    sums = FIELD.from_bytes(answer.sum, plan.groups * _length(plan)).reshape(plan.groups, -1)
    # Where some group is empty; a cohort of one group is not, and to sort its clients for each opening takes time.
    if plan.groups > 1 or not cohort.members:
        for part, total in zip(plan.parts(cohort.clients()), sums, strict=True):
            _require(bool(part) or not total.any(), "the opening of an empty cohort or group is a sum of zeros")
    check_next_key(plan, roster, answer.client, answer.next_key)


def check_next_key(plan: Plan, roster: Roster, client: str, signed: Signed[OpeningKey]) -> None:
    """Check the key that a member answers with: all of an answer that counts once its round is published.

    One key that breaks check 12 of a plan would make every client refuse the next one.

    Raises:
        RemoteProtocolError: the client has no seat, or the key could not stand in the next plan.
        VerificationError: the key is not signed by the member.
        CryptographicError: nobody could seal for it.
    """
    number = plan.seat_of(client)
    if number is None:
        raise RemoteProtocolError(f"{client} has no seat in round {plan.round}")
    key, present = signed.message, plan.seats[number - 1].key
    _require((key.client, key.federation) == (client, plan.federation), "the next key is another client's")
    signed.verify(roster.identity_key(client))
    _require(key.suite == plan.suite, f"the next key is of suite {key.suite}, the plan's is {plan.suite}")
    envelope.check_key(key.key, key.suite)
    _require(
        present is None or key.serial > present.message.serial, f"the next key's serial {key.serial} does not rise"
    )
    taken = [seat.key.message.key for seat in plan.seats if seat.key is not None]
    _require(key.key not in taken, "the next key stands in this plan already")


def unmask(
    plan: Plan,
    cohort: Cohort,
    masked: Mapping[str, bytes],
    openings: Sequence[Opening],
    *,
    last_chance: bool = True,
) -> Unmasked:
    """Interpolate the sum of masks of each group, subtract it, decode, combine.

    Args:
        plan: the round's plan.
        cohort: the closed cohort.
        masked: the masked vector of every client in it.
        openings: checked openings of it, at least the threshold, one a member.
        last_chance: no further opening will come, so that wrong ones are mended with all there are; a group whose
            shares contradict each other beyond that is one that has no honest average.

    Raises:
        OpeningsContradict: the openings contradict each other: beyond mending or, before the last chance, at all.
        SumRefused: the sum cannot be an honest average, or those of half of the counted groups or more cannot.
        LocalProtocolError: fewer openings than the threshold.
    """
    length = _length(plan)
    points = [_seat(plan, opening.client) for opening in openings]
    sums = np.stack([FIELD.from_bytes(opening.sum, plan.groups * length) for opening in openings])
    vector = np.zeros((plan.groups, length), dtype=np.uint64)
    disputed: set[int] = set()
    for number, part in enumerate(plan.parts(cohort.clients())):
        if not part:
            continue
        shares = np.ascontiguousarray(sums[:, number * length : (number + 1) * length])
        try:
            # Apart: wrong positions of one group take nothing from what the others can mend.
            opened = shamir.interpolate(FIELD, points, shares, plan.threshold, mend=last_chance)
        except OpeningsContradict:
            if plan.groups == 1 or not last_chance:
                raise
            continue
        disputed.update(opened.disputed)
        counted = np.stack([FIELD.from_bytes(masked[client], length) for client in part])
        vector[number] = FIELD.sub(FIELD.total(counted), opened.values)
    flat = vector.reshape(-1)
    combined = combine_sums(plan, cohort, flat)
    return Unmasked(
        flat,
        combined.average,
        combined.total_weight,
        tuple(plan.seats[point - 1].client for point in sorted(disputed)),
        len(points) - plan.threshold,
        combined.refused,
        combined.clamped,
    )


def _length(plan: Plan) -> int:
    # Reading the whole codec takes as long as checking a signature, and whoever made the plan has read it.
    names = plan.codec.get("names")
    if not isinstance(names, list):
        raise EncodingError(f"the codec of round {plan.round} names no numbers")
    return len(names) + 1


def _seat(plan: Plan, client: str) -> int:
    seat = plan.seat_of(client)
    if seat is None:
        raise SumRefused(f"{client} has no seat in round {plan.round}")
    return seat


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise RemoteProtocolError(reason)

"""The aggregator's part: accept contributions and openings, fix the cohort, unmask its sum.

What is checked here protects honest clients from each other; what protects them from the aggregator is checked by
themselves (`checked_plan`, `member`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fgpr import canonical
from fgpr.errors import EncodingError, RemoteProtocolError, SumRefused
from fgpr.message import Signed
from fgpr.secagg import envelope, shamir
from fgpr.secagg.contributor import FIELD, boxes_root, masked_digest
from fgpr.secagg.differences import codec_of
from fgpr.secagg.messages import Cohort, CohortMember, Contribution, Header, LogPosition, Opening, Plan
from fgpr.secagg.roster import Roster
from fgpr.secagg.suites import SUITES

HASH_ORDER_LABEL = "fgpr-v1/left-out"


@dataclass(frozen=True)
class Unmasked:
    """The opened sum of one cohort.

    Attributes:
        vector: the sum of the encoded updates, shape [L + 1], field elements.
        average: the weighted average, shape [L].
        total_weight: the sum of the weights.
        disputed: members whose opening or a share in it was wrong; no proof of a lying member.
        spare: openings above the threshold; at 0 a single member could have shifted the result unseen.
        clamped: names of averages that noise carried out of their bounds; only under differential privacy.
    """

    vector: np.ndarray
    average: np.ndarray
    total_weight: int
    disputed: tuple[str, ...]
    spare: int
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
    for seat, box in zip(plan.seats, contribution.boxes, strict=True):
        wanted = 0 if seat.key is None else len(contribution.masked) + SUITES[plan.suite].overhead
        _require(len(box) == wanted, f"the box of {seat.client} has {len(box)} bytes, not {wanted}")
    _require(boxes_root(contribution.boxes) == header.boxes, "the boxes are not the signed ones")


def close(
    plan: Plan,
    plan_digest: bytes,
    headers: Mapping[str, Header],
    checkpoint: LogPosition,
    opened: Sequence[frozenset[str]] = (),
    least: int = 0,
) -> Cohort | None:
    """Fix S.

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
    counted = set(headers).intersection(*opened)
    ordered = sorted(counted, key=lambda name: canonical.digest(HASH_ORDER_LABEL, [plan.round, name]))
    # Leaving one more out for one of the earlier cohorts changes the difference from the others.
    while counted and any(0 < len(earlier - counted) < least for earlier in opened):
        counted.remove(ordered.pop())
    if len(counted) < plan.min_cohort:
        return None
    return cohort_of(plan, plan_digest, {name: headers[name] for name in counted}, checkpoint)


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
    number = plan.seat_of(answer.client)
    if number is None:
        raise RemoteProtocolError(f"{answer.client} has no seat in round {plan.round}")
    _require(
        (answer.federation, answer.round, answer.cohort) == (cohort.federation, cohort.round, cohort.digest()),
        "the opening is of another cohort",
    )
    identity = roster.identity_key(answer.client)
    signed.verify(identity)
    FIELD.from_bytes(answer.sum, _length(plan))
    _require(bool(cohort.members) or not any(answer.sum), "the opening of an empty cohort is a sum of zeros")
    # One key that breaks check 12 of a plan would make every client refuse the next one.
    key, present = answer.next_key.message, plan.seats[number - 1].key
    _require((key.client, key.federation) == (answer.client, answer.federation), "the next key is another client's")
    answer.next_key.verify(identity)
    _require(key.suite == plan.suite, f"the next key is of suite {key.suite}, the plan's is {plan.suite}")
    envelope.check_key(key.key, key.suite)
    _require(
        present is None or key.serial > present.message.serial, f"the next key's serial {key.serial} does not rise"
    )
    taken = {seat.key.message.key for seat in plan.seats if seat.key is not None}
    _require(key.key not in taken, "the next key stands in this plan already")


def unmask(plan: Plan, cohort: Cohort, masked: Mapping[str, bytes], openings: Sequence[Opening]) -> Unmasked:
    """Interpolate the sum of masks, subtract it, decode.

    Args:
        plan: the round's plan.
        cohort: the closed cohort.
        masked: the masked vector of every client in it.
        openings: checked openings of it, at least the threshold, one a member.

    Raises:
        OpeningsContradict: the openings contradict each other beyond mending.
        SumRefused: the sum cannot be an honest average.
        LocalProtocolError: fewer openings than the threshold.
    """
    codec, length = codec_of(plan), _length(plan)
    points = [_seat(plan, opening.client) for opening in openings]
    sums = np.stack([FIELD.from_bytes(opening.sum, length) for opening in openings])
    opened = shamir.interpolate(FIELD, points, sums, plan.threshold)
    total = np.zeros(length, dtype=np.uint64)
    for member in cohort.members:
        total = FIELD.add(total, FIELD.from_bytes(masked[member.client], length))
    vector = FIELD.sub(total, opened.values)
    decoded = codec.decode(vector, len(cohort.members))
    disputed = tuple(plan.seats[point - 1].client for point in opened.disputed)
    return Unmasked(vector, decoded.average, decoded.total_weight, disputed, opened.spare, decoded.clamped)


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

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr.errors import EncodingError, FgprError, LocalProtocolError, RemoteProtocolError, SumRefused, VerificationError
from fgpr.message import Signed
from fgpr.secagg import opening
from fgpr.secagg.contributor import FIELD, boxes_root, masked_digest
from fgpr.secagg.messages import Contribution, Header, Opening, OpeningKey
from support import malice, samples
from support.federation import Federation

STRANGER = Ed25519PrivateKey.from_private_bytes(bytes([9]) * 32)
MADE = samples.federation()
PLAN, ROSTER = MADE.now.plan.message, MADE.roster.message
SENT = MADE.now.contributions["client-02"]
ANSWER = MADE.now.openings["client-01"]
assert MADE.now.cohort is not None
COHORT = MADE.now.cohort.message


def resigned(key: Ed25519PrivateKey | None = None, **fields: Any) -> Contribution:
    """The contribution with another header, signed by its client or by somebody else."""
    header = SENT.header.message.model_copy(update=fields)
    signed = Signed[Header].make(key or MADE.clients["client-02"].identity_key, header)
    return SENT.model_copy(update={"header": signed})


def with_masked(masked: bytes) -> Contribution:
    return resigned(masked=masked_digest(masked)).model_copy(update={"masked": masked})


def with_boxes(boxes: tuple[bytes, ...]) -> Contribution:
    return resigned(boxes=boxes_root(boxes)).model_copy(update={"boxes": boxes})


@pytest.mark.parametrize(
    ("contribution", "reason"),
    [
        (resigned(client="sybil"), "sybil is not invited"),
        (resigned(plan=bytes(32)), "another plan"),
        (resigned(round=9), "another plan"),
        (resigned(federation="bridges"), "another plan"),
        (resigned(key=STRANGER), "does not hold"),
        (resigned(client="client-03"), "does not hold"),
        (SENT.model_copy(update={"masked": bytes(32)}), "the masked vector is not the signed one"),
        (with_masked(bytes(24)), "24 bytes are not 4 words"),
        (with_masked(bytes(40)), "40 bytes are not 4 words"),
        (with_masked(b"\xff" * 32), "reaches the modulus"),
        (with_masked((2**61 - 1).to_bytes(8, "little") + bytes(24)), "reaches the modulus"),
        (with_boxes(SENT.boxes[:3]), "3 boxes for 4 seats"),
        (with_boxes((*SENT.boxes[:3], b"")), "the box of client-03 has 0 bytes, not 80"),
        (with_boxes((*SENT.boxes[:3], bytes(81))), "the box of client-03 has 81 bytes, not 80"),
        (SENT.model_copy(update={"boxes": SENT.boxes[::-1]}), "the boxes are not the signed ones"),
        (malice.with_box(SENT, 1, bytes(80)), "the boxes are not the signed ones"),
    ],
)
def test_a_contribution_that_does_not_fit_is_refused(contribution: Contribution, reason: str) -> None:
    opening.check_contribution(PLAN, PLAN.digest(), ROSTER, SENT)
    with pytest.raises(FgprError, match=reason):
        opening.check_contribution(PLAN, PLAN.digest(), ROSTER, contribution)


def test_no_bytes_may_be_sent_for_an_empty_seat() -> None:
    seats = (PLAN.seats[0].model_copy(update={"key": None}), *PLAN.seats[1:])
    plan = PLAN.model_copy(update={"seats": seats})
    with pytest.raises(RemoteProtocolError, match="the box of client-00 has 80 bytes, not 0"):
        opening.check_contribution(plan, PLAN.digest(), ROSTER, SENT)


def test_a_plan_whose_codec_names_nothing_takes_no_contribution() -> None:
    plan = PLAN.model_copy(update={"codec": {}})
    with pytest.raises(EncodingError, match=f"the codec of round {PLAN.round} names no numbers"):
        opening.check_contribution(plan, PLAN.digest(), ROSTER, SENT)


def answered(key: Ed25519PrivateKey | None = None, **fields: Any) -> Signed[Opening]:
    """The opening with other fields, signed by its member or by somebody else."""
    message = ANSWER.message.model_copy(update=fields)
    return Signed[Opening].make(key or MADE.clients["client-01"].identity_key, message)


def next_key(key: Ed25519PrivateKey | None = None, key_bytes: bytes | None = None, **fields: Any) -> Signed[Opening]:
    if key_bytes is not None:
        fields["key"] = key_bytes
    message = ANSWER.message.next_key.message.model_copy(update=fields)
    return answered(next_key=Signed[OpeningKey].make(key or MADE.clients["client-01"].identity_key, message))


def key_in_seat(number: int) -> OpeningKey:
    key = PLAN.seats[number - 1].key
    assert key is not None
    return key.message


@pytest.mark.parametrize(
    ("signed", "reason"),
    [
        (answered(client="sybil"), "sybil has no seat"),
        (answered(client="client-00"), "does not hold"),
        (answered(key=STRANGER), "does not hold"),
        (answered(cohort=bytes(32)), "another cohort"),
        (answered(round=9), "another cohort"),
        (answered(federation="bridges"), "another cohort"),
        (answered(sum=bytes(24)), "24 bytes are not 4 words"),
        (answered(sum=b"\xff" * 32), "reaches the modulus"),
        (next_key(client="client-00"), "the next key is another client's"),
        (next_key(federation="bridges"), "the next key is another client's"),
        (next_key(key=STRANGER), "does not hold"),
        (next_key(serial=key_in_seat(2).serial), "does not rise"),
        (next_key(serial=1), "does not rise"),
    ],
)
def test_an_opening_that_does_not_fit_is_refused(signed: Signed[Opening], reason: str) -> None:
    opening.check_opening(PLAN, ROSTER, COHORT, ANSWER)
    with pytest.raises(FgprError, match=reason):
        opening.check_opening(PLAN, ROSTER, COHORT, signed)


@pytest.mark.parametrize("seat", [1, 2, 4])
def test_a_next_key_that_would_break_check_twelve_of_the_next_plan_is_refused(seat: int) -> None:
    changed = ANSWER.message.next_key.message.model_copy(update={"key": key_in_seat(seat).key})
    client = MADE.clients["client-01"].identity_key
    with pytest.raises(RemoteProtocolError, match="stands in this plan already"):
        opening.check_opening(PLAN, ROSTER, COHORT, answered(next_key=Signed[OpeningKey].make(client, changed)))
    unusable = changed.model_copy(update={"key": bytes(32)})
    with pytest.raises(FgprError, match="nobody can seal for this opening key"):
        opening.check_opening(PLAN, ROSTER, COHORT, answered(next_key=Signed[OpeningKey].make(client, unusable)))


@pytest.mark.parametrize(
    ("signed", "reason"),
    [
        (next_key(client="client-00"), "the next key is another client's"),
        (next_key(federation="bridges"), "the next key is another client's"),
        (next_key(key=STRANGER), "does not hold"),
        (next_key(suite="mlkem768-x25519", key_bytes=bytes(1216)), "the next key is of suite mlkem768-x25519"),
        (next_key(key_bytes=bytes(32)), "nobody can seal for this opening key"),
        (next_key(serial=key_in_seat(2).serial), "does not rise"),
        (next_key(key_bytes=key_in_seat(4).key), "stands in this plan already"),
    ],
)
def test_of_a_late_opening_only_the_key_counts_and_is_checked(signed: Signed[Opening], reason: str) -> None:
    late = answered(key=STRANGER, cohort=bytes(32), sum=b"").message
    opening.check_next_key(PLAN, ROSTER, "client-01", late.next_key)
    with pytest.raises(FgprError, match=reason):
        opening.check_next_key(PLAN, ROSTER, "client-01", signed.message.next_key)


def test_a_client_without_a_seat_leaves_no_key() -> None:
    with pytest.raises(RemoteProtocolError, match="sybil has no seat in round"):
        opening.check_next_key(PLAN, ROSTER, "sybil", ANSWER.message.next_key)


def test_the_empty_cohort_is_answered_with_zeros_only() -> None:
    empty = opening.cohort_of(PLAN, PLAN.digest(), {}, PLAN.checkpoint)
    opening.check_opening(PLAN, ROSTER, empty, answered(cohort=empty.digest(), sum=bytes(32)))
    with pytest.raises(RemoteProtocolError, match="a sum of zeros"):
        opening.check_opening(PLAN, ROSTER, empty, answered(cohort=empty.digest(), sum=bytes(31) + b"\x01"))


def test_a_revoked_client_s_signature_counts_for_nothing() -> None:
    lines = tuple(
        line.model_copy(update={"revoked": line.client in ("client-01", "client-02")}) for line in ROSTER.clients
    )
    roster = ROSTER.model_copy(update={"clients": lines})
    with pytest.raises(VerificationError, match="client-02 is revoked"):
        opening.check_contribution(PLAN, PLAN.digest(), roster, SENT)
    with pytest.raises(VerificationError, match="client-01 is revoked"):
        opening.check_opening(PLAN, roster, COHORT, ANSWER)


def opened_by(made: Federation, *names: str) -> list[Opening]:
    return [made.open(name).message for name in names]


def in_opening(size: int = 8) -> Federation:
    made = Federation(size)
    made.plan()
    for place, name in enumerate(made.names, start=1):
        made.contribute(name, np.array([0.1, 0.2, 0.3]) * place, place)
    made.close()
    return made


def unmasked(made: Federation, answers: list[Opening]) -> opening.Unmasked:
    assert made.now.cohort is not None
    masked = {name: sent.masked for name, sent in made.now.contributions.items()}
    return opening.unmask(made.now.plan.message, made.now.cohort.message, masked, answers)


def test_the_sum_opens_with_any_t_openings() -> None:
    made = in_opening()
    answers = opened_by(made, *made.names)
    whole = unmasked(made, answers)
    assert (whole.total_weight, whole.spare, whole.disputed) == (36, 2, ())
    for chosen in (answers[:6], answers[2:], answers[::-1], [*answers[:2], *answers[4:]]):
        part = unmasked(made, chosen)
        assert np.array_equal(part.vector, whole.vector)
    with pytest.raises(LocalProtocolError, match="at least 6"):
        unmasked(made, answers[:5])
    with pytest.raises(LocalProtocolError, match="each once"):
        unmasked(made, [*answers[:6], answers[0]])


def test_an_opening_of_somebody_without_a_seat_is_not_interpolated() -> None:
    made = in_opening()
    answers = opened_by(made, *made.names[:6])
    with pytest.raises(SumRefused, match="sybil has no seat"):
        unmasked(made, [*answers[:5], answers[5].model_copy(update={"client": "sybil"})])


Lie = Callable[[Opening], Opening]


def shifted(answer: Opening) -> Opening:
    vector = FIELD.from_bytes(answer.sum, 4)
    return answer.model_copy(update={"sum": FIELD.to_bytes(FIELD.add(vector, np.array([1, 0, 0, 0], dtype=np.uint64)))})


def test_wrong_openings_are_mended_disputed_or_at_least_seen() -> None:
    made = in_opening()
    answers = opened_by(made, *made.names)
    whole = unmasked(made, answers)
    for place in range(8):
        lied = [shifted(answer) if at == place else answer for at, answer in enumerate(answers)]
        mended = unmasked(made, lied)
        assert np.array_equal(mended.vector, whole.vector)
        assert mended.disputed == (made.names[place],)
    # One to spare shows a wrong one and mends none.
    with pytest.raises(SumRefused, match="contradict each other"):
        unmasked(made, [shifted(answers[0]), *answers[1:7]])
    # None to spare: the result is shifted, or outside what honest clients can send.
    try:
        alone = unmasked(made, [shifted(answers[0]), *answers[1:6]])
    except SumRefused:
        return
    assert alone.spare == 0
    assert not np.array_equal(alone.vector, whole.vector)

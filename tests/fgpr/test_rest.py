from typing import Any

import pytest

from fgpr import canonical
from fgpr.errors import EncodingError
from fgpr.message import Message
from fgpr.rest import (
    AbortedRound,
    CheckpointView,
    EnrolmentReceipt,
    EnrolmentRequest,
    LogEntries,
    LogProof,
    PriorView,
    Receipt,
    RoundList,
    RoundSummary,
    RoundView,
)
from fgpr.secagg.stages import Stage
from support import samples

MADE = samples.federation()
VOID = MADE.rounds[2]
assert VOID.empty is not None
AT = "2031-03-09T21:30:00.000Z"
SECRET = bytes(range(100, 132))
ABORTED = AbortedRound(plan=VOID.plan, cohort=VOID.empty)
SUMMARY = RoundSummary(
    round=3,
    stage=Stage.CARRIED,
    prior_version=1,
    invited=4,
    contributions=2,
    cohort=None,
    openings=0,
    threshold=4,
    contribute_until=AT,
    open_until=AT,
    ended_at=None,
    reason="too few",
)
VIEW = RoundView(
    federation="engines",
    round=4,
    stage=Stage.OPENING,
    state="4.opening",
    federation_state="open",
    plan=MADE.now.plan,
    cohort=MADE.now.cohort,
    reason=None,
    prior_version=2,
    aborted=(ABORTED,),
    server_time=AT,
)
BODIES: list[Message] = [
    EnrolmentRequest(
        federation="engines",
        client="a",
        secret=SECRET,
        identity_key=bytes(32),
        opening_key=MADE.keys["client-00"],
        declared=None,
    ),
    EnrolmentRequest(
        federation="engines", client="a", secret=SECRET, identity_key=bytes(32), opening_key=None, declared=None
    ),
    EnrolmentReceipt(federation="engines", client="a", role="client", key_id="x", round=0, prior_version=0),
    Receipt(federation="engines", round=1, client="a", body=bytes(32), counted=True),
    ABORTED,
    VIEW,
    VIEW.model_copy(update={"round": 0, "stage": None, "plan": None, "cohort": None, "aborted": ()}),
    SUMMARY,
    RoundList(rounds=(SUMMARY,), next=2),
    PriorView(prior=samples.signed_prior(), leaf=b"{}", index=0),
    CheckpointView(note="fgpr-log/x\n", service_key=bytes(32)),
    LogEntries(start=0, end=1, frontier=(bytes(32),), leaves=(b"{}",)),
    LogProof(hashes=(bytes(32),)),
]


@pytest.mark.parametrize("body", BODIES, ids=samples.titled)
def test_one_encoding_and_one_decoding(body: Message) -> None:
    assert type(body).decode(body.encode()) == body
    assert type(body).decode(body.encode()).encode() == body.encode()


@pytest.mark.parametrize("body", BODIES, ids=samples.titled)
def test_every_field_is_needed_and_no_other_is_taken(body: Message) -> None:
    value = body.to_json()
    with pytest.raises(EncodingError, match="colour"):
        type(body).from_json(value | {"colour": "blue"})
    for name in value:
        with pytest.raises(EncodingError, match=name):
            type(body).from_json({key: inner for key, inner in value.items() if key != name})


@pytest.mark.parametrize("body", BODIES, ids=samples.titled)
def test_no_scalar_can_be_of_another_type(body: Message) -> None:
    value = body.to_json()
    for path, scalar in samples.leaves_of(value):
        if {"training", "codec", "spec"} & set(path):
            continue
        others: list[Any] = [{}, 3.5 if isinstance(scalar, str) else "3-"]
        for other in others if isinstance(scalar, bool) else [*others, True]:
            if other == "3-" and path == ("reason",):
                continue
            with pytest.raises(EncodingError):
                type(body).from_json(samples.with_leaf(value, path, other))


def test_an_unknown_stage_is_refused() -> None:
    with pytest.raises(EncodingError, match="stage"):
        RoundSummary.from_json(SUMMARY.to_json() | {"stage": "paused"})


def test_an_enrolment_hides_the_ticket_s_secret() -> None:
    for shown in (repr(BODIES[0]), str(BODIES[0])):
        for form in (repr(SECRET)[2:-1], SECRET.hex(), canonical.to_text(SECRET)):
            assert form not in shown


@pytest.mark.parametrize("length", [0, 31, 33])
def test_a_secret_has_its_length(length: int) -> None:
    with pytest.raises(EncodingError, match="secret"):
        EnrolmentRequest.from_json(BODIES[0].to_json() | {"secret": canonical.to_text(bytes(length))})

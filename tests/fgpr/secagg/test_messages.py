import base64
from typing import Any

import pytest

from fgpr import canonical
from fgpr.errors import EncodingError, FgprError
from fgpr.message import Message, Signed
from fgpr.secagg.encoding import Codec
from fgpr.secagg.messages import Cohort, Contribution, Opening, Plan
from support import samples

MESSAGES = samples.of_a_round()
PLAN = samples.federation().rounds[3].plan.message
ids = samples.titled


@pytest.mark.parametrize("message", MESSAGES, ids=ids)
def test_one_encoding_and_one_decoding(message: Message) -> None:
    kind, encoded = type(message), message.encode()
    assert kind.decode(encoded) == message
    assert kind.decode(encoded).encode() == encoded
    assert kind.from_json(message.to_json()).digest() == message.digest()


@pytest.mark.parametrize("message", MESSAGES, ids=ids)
def test_no_scalar_can_be_of_another_type(message: Message) -> None:
    value = message.to_json()
    for path, scalar in samples.leaves_of(value):
        if "training" in path or "codec" in path:
            continue
        # What may be missing may be null, and a flag may be true.
        others: list[Any] = [{}, [], 3.5 if isinstance(scalar, str) else "3"]
        for other in others if isinstance(scalar, bool) else [*others, True]:
            with pytest.raises(EncodingError):
                type(message).from_json(samples.with_leaf(value, path, other))


@pytest.mark.parametrize("message", MESSAGES, ids=ids)
def test_no_field_can_be_added_or_left_out(message: Message) -> None:
    value = message.to_json()
    with pytest.raises(EncodingError, match="colour"):
        type(message).from_json(value | {"colour": "blue"})
    for name, field in type(message).model_fields.items():
        if field.is_required():
            with pytest.raises(EncodingError, match=name):
                type(message).from_json({key: inner for key, inner in value.items() if key != name})


@pytest.mark.parametrize("message", MESSAGES, ids=ids)
def test_no_bytes_can_be_spelled_otherwise(message: Message) -> None:
    value = message.to_json()
    spelled = [(path, text) for path, text in samples.leaves_of(value) if isinstance(text, str) and text.endswith("=")]
    for path, text in spelled:
        for other in (text.rstrip("="), text + "\n", base64.b64decode(text).hex() + "-"):
            with pytest.raises(EncodingError, match="base64"):
                type(message).from_json(samples.with_leaf(value, path, other))


@pytest.mark.parametrize(
    ("message", "fields"),
    [
        (PLAN, ["prior_digest", "roster_digest", "checkpoint.root"]),
        (MESSAGES[1], ["nonce"]),
        (MESSAGES[2], ["identity_key"]),
        (MESSAGES[7], ["key"]),
        (MESSAGES[10], ["plan", "masked", "boxes"]),
        (MESSAGES[12], ["plan", "checkpoint.root"]),
        (MESSAGES[13], ["header"]),
        (MESSAGES[17], ["cohort"]),
        (MESSAGES[16], ["signature"]),
    ],
    ids=lambda part: type(part).__name__ if isinstance(part, Message) else "",
)
def test_digests_keys_and_signatures_have_their_length(message: Message, fields: list[str]) -> None:
    value = message.to_json()
    for field in fields:
        path = tuple(field.split("."))
        raw = base64.b64decode(dict(samples.leaves_of(value))[path])
        for other in (raw[:-1], raw + b"\0", b""):
            with pytest.raises(EncodingError, match=field):
                type(message).from_json(samples.with_leaf(value, path, canonical.to_text(other)))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"round": 0}, "round"),
        ({"update": "gradient"}, "update"),
        ({"weighting": "classes"}, "weighting"),
        ({"gamma": 1.0}, "gamma"),
        ({"gamma": -0.1}, "gamma"),
        ({"delta": 1}, "delta"),
        ({"threshold": 0}, "threshold"),
        ({"roster_version": 0}, "roster_version"),
        ({"min_cohort": 0}, "min_cohort"),
        ({"invited": ["Client 1"]}, "invited"),
        ({"differential_privacy": {"clip": 1.0}}, "differential_privacy"),
        ({"contribute_until": "tomorrow"}, "contribute_until"),
        ({"prior_version": 2**53}, "prior_version"),
    ],
)
def test_a_plan_s_numbers_have_their_range(change: dict[str, Any], field: str) -> None:
    with pytest.raises(EncodingError):
        # Out of the numbers of JSON already, or named as the field.
        Plan.decode(canonical.encode(PLAN.to_json() | change))
    if change.get(field) != 2**53:
        with pytest.raises(EncodingError, match=field):
            Plan.from_json(PLAN.to_json() | change)


@pytest.mark.parametrize(
    "raw",
    [b'{"rate":1e999}', b'{"rate":NaN}', b'{"rate":-Infinity}', b'{"rate":1,"rate":2}', b"[" * 40 + b"]" * 40, b"3"],
)
def test_free_settings_of_a_plan_are_strict_json_too(raw: bytes) -> None:
    encoded = PLAN.encode().replace(canonical.encode(PLAN.training), raw)
    assert encoded != PLAN.encode()
    with pytest.raises(EncodingError):
        Plan.decode(encoded)


def test_settings_with_unknown_fields_are_no_codec() -> None:
    with pytest.raises(EncodingError, match="exactly the fields"):
        Codec.from_json(PLAN.codec | {"colour": "blue"})


def test_a_masked_vector_and_boxes_are_not_in_repr() -> None:
    contribution = next(message for message in MESSAGES if isinstance(message, Contribution))
    for shown in (repr(contribution), str(contribution)):
        for secret in (contribution.masked, *contribution.boxes):
            assert repr(secret)[2:30] not in shown
            assert canonical.to_text(secret)[:30] not in shown
            assert secret.hex()[:30] not in shown


def test_no_signature_is_taken_for_one_over_another_kind() -> None:
    # Even where fields agree: the label is signed.
    labels = {type(message).label for message in MESSAGES if type(message).label}
    assert len(labels) == len({type(message) for message in MESSAGES if type(message).label}) == 7
    assert all(label.startswith("fgpr-v1/") for label in labels)


def test_a_digest_changes_with_every_scalar() -> None:
    for kind in (Plan, Cohort, Opening):
        message = next(message for message in MESSAGES if isinstance(message, kind))
        value, seen = message.to_json(), {message.digest()}
        changed = 0
        for path, scalar in samples.leaves_of(value):
            if isinstance(scalar, int) and not isinstance(scalar, bool) and "codec" not in path:
                try:
                    seen.add(kind.from_json(samples.with_leaf(value, path, scalar + 1)).digest())
                except FgprError:
                    continue
                changed += 1
        assert changed > 0
        assert len(seen) == changed + 1


def test_the_seat_of_a_client_counts_from_one() -> None:
    assert [PLAN.seat_of(seat.client) for seat in PLAN.seats] == [1, 2, 3, 4]
    assert PLAN.seat_of("stranger") is None


def test_a_signed_message_of_each_kind_verifies_after_a_round_trip() -> None:
    made = samples.federation()
    Signed[Plan].decode(made.now.plan.encode()).verify(made.anchors.service_key)

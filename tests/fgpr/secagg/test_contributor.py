import dataclasses
import random
from fractions import Fraction

import numpy as np
import pytest

from fgpr import canonical, merkle
from fgpr.errors import EncodingError, LocalProtocolError, PlanRefused
from fgpr.secagg import envelope, shamir
from fgpr.secagg.checked_plan import CheckedPlan
from fgpr.secagg.contributor import FIELD, Contributed, boxes_root, contribute, masked_digest
from fgpr.secagg.messages import OpeningKey
from fgpr.secagg.planning import AggregationRules
from support.federation import Federation

VALUES = np.array([0.5, -1.0, 2.0])


def checked_by(federation: Federation, name: str = "client-01") -> CheckedPlan:
    federation.plan()
    return federation.check(name)


def made(
    federation: Federation, values: np.ndarray = VALUES, observations: int = 7, seed: int = 3
) -> tuple[CheckedPlan, Contributed]:
    checked = checked_by(federation)
    client = federation.clients["client-01"]
    return checked, contribute(
        checked, client.name, client.identity_key, values, observations, random.Random(seed).randbytes
    )


def test_the_mask_that_the_boxes_share_is_the_one_that_was_added() -> None:
    federation = Federation(5)
    checked, sent = made(federation)
    shares = []
    for number, client in enumerate(federation.clients.values(), start=1):
        key = client.member(checked.plan).opening_key
        assert key is not None
        info = envelope.box_info(checked.digest, "client-01", federation.clients["client-01"].public_key(), number)
        shares.append(FIELD.from_bytes(envelope.open_box(sent.contribution.boxes[number - 1], key, info), 4))
    mask = shamir.interpolate(FIELD, [1, 2, 3, 4, 5], np.stack(shares), checked.plan.threshold).values
    encoded = FIELD.sub(FIELD.from_bytes(sent.contribution.masked, 4), mask)
    for value, element, lower, upper in zip(VALUES, encoded, checked.codec.lower, checked.codec.upper, strict=False):
        share = (Fraction(float(value)) - Fraction(lower)) / (Fraction(upper) - Fraction(lower))
        assert int(element) == 7 * round(share * (2**30 - 1))
    assert int(encoded[-1]) == 7


def test_fewer_boxes_than_the_threshold_open_another_mask() -> None:
    federation = Federation(5)
    checked, sent = made(federation)
    info = envelope.box_info(checked.digest, "client-01", federation.clients["client-01"].public_key(), 1)
    key = federation.clients["client-00"].member(checked.plan).opening_key
    assert key is not None
    alone = FIELD.from_bytes(envelope.open_box(sent.contribution.boxes[0], key, info), 4)
    opened = FIELD.sub(FIELD.from_bytes(sent.contribution.masked, 4), alone)
    assert int(opened[-1]) != 7


def test_the_header_names_plan_client_vector_and_boxes_under_the_client_s_signature() -> None:
    federation = Federation(5)
    checked, sent = made(federation)
    header = sent.contribution.header
    header.verify(federation.clients["client-01"].public_key())
    assert (header.message.client, header.message.round, header.message.plan) == ("client-01", 1, checked.plan.digest())
    assert header.message.masked == canonical.digest("fgpr-v1/masked", canonical.to_text(sent.contribution.masked))
    assert header.message.boxes == merkle.root([merkle.leaf_hash(box) for box in sent.contribution.boxes])
    assert [len(box) for box in sent.contribution.boxes] == [4 * 8 + 48] * 5


def test_an_empty_seat_gets_no_bytes_and_still_a_leaf() -> None:
    federation = Federation(5)
    del federation.keys["client-02"]
    checked, sent = made(federation)
    assert checked.plan.seats[2].key is None
    assert [len(box) for box in sent.contribution.boxes] == [80, 80, 0, 80, 80]
    assert sent.contribution.header.message.boxes == boxes_root(sent.contribution.boxes)


def test_what_was_capped_and_clipped_is_told_and_the_weight_is_not_shown() -> None:
    _, sent = made(Federation(4), np.array([100.0, 0.0, -50.0]), observations=70_001)
    assert sent.weight == 65_535
    assert sent.weight_capped
    assert sent.saturated == ("signal sd", "length-scale of cycle")
    _, small = made(Federation(4), observations=4_321)
    assert (small.weight, small.weight_capped, small.saturated) == (4_321, False, ())
    assert "4321" not in repr(small)
    assert canonical.to_text(small.contribution.masked) not in repr(small)


def test_with_the_uniform_rule_everybody_counts_once() -> None:
    _, sent = made(Federation(4, AggregationRules(weighting="uniform")), observations=9)
    assert sent.weight == 1


@pytest.mark.parametrize("weighting", ["exact", "uniform"])
@pytest.mark.parametrize("observations", [0, -3])
def test_nobody_without_observations_sends(weighting: str, observations: int) -> None:
    federation = Federation(4, AggregationRules.from_json(AggregationRules().to_json() | {"weighting": weighting}))
    with pytest.raises(EncodingError, match="without any sends nothing"):
        made(federation, observations=observations)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nothing_that_is_not_finite_is_encoded(bad: float) -> None:
    with pytest.raises(EncodingError, match="noise sd is"):
        made(Federation(4), np.array([0.0, bad, 0.0]))


def test_only_the_invited_contribute() -> None:
    federation = Federation(4)
    checked = checked_by(federation)
    with pytest.raises(LocalProtocolError, match="sybil is not invited to round 1"):
        contribute(checked, "sybil", federation.service_key, VALUES, 1, federation.random_bytes)


def test_a_seat_whose_key_takes_no_box_is_refused_as_check_twelve() -> None:
    federation = Federation(4)
    checked = checked_by(federation)
    seat = checked.plan.seats[3]
    assert seat.key is not None
    bad = seat.model_copy(update={"key": seat.key.model_copy(update={"message": zero(seat.key.message)})})
    plan = checked.plan.model_copy(update={"seats": (*checked.plan.seats[:3], bad)})
    client = federation.clients["client-01"]
    with pytest.raises(PlanRefused, match="client-03's opening key") as refused:
        contribute(
            dataclasses.replace(checked, plan=plan),
            client.name,
            client.identity_key,
            VALUES,
            1,
            federation.random_bytes,
        )
    assert refused.value.check == 12


def zero(key: OpeningKey) -> OpeningKey:
    return key.model_copy(update={"key": bytes(32)})


def test_every_word_of_the_mask_is_drawn() -> None:
    # Two contributions of the same vector, from independent bytes, agree in no word; from the same bytes in all.
    words = [FIELD.from_bytes(made(Federation(4), seed=seed)[1].contribution.masked, 4) for seed in (3, 3, 4)]
    assert np.array_equal(words[0], words[1])
    assert not np.any(words[0] == words[2])


def test_the_digest_of_a_vector_is_labelled() -> None:
    assert masked_digest(b"\x01" * 8) == canonical.digest("fgpr-v1/masked", "AQEBAQEBAQE=")

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fgpr import canonical
from fgpr.errors import EncodingError, SumRefused, VerificationError
from fgpr.federated import publication
from fgpr.federated.publication import PriorRecord
from fgpr.gp.model import Feature, ModelSpec, Target
from fgpr.message import Signed
from fgpr.secagg.contributor import FIELD
from fgpr.secagg.planning import AggregationRules
from support import samples
from support.client import NAME
from support.federation import SPEC, Federation

MADE = samples.federation()
INITIAL, AVERAGED, CARRIED = samples.priors()
PLAN = MADE.rounds[1].plan.message
CLOSED = MADE.rounds[1].cohort
assert CLOSED is not None
COHORT = CLOSED.message


def test_the_first_prior_holds_the_model_s_start() -> None:
    record = publication.initial("engines", SPEC)
    assert (record.version, record.theta_version, record.reason, record.round, record.opened) == (
        0,
        0,
        "initial",
        None,
        None,
    )
    np.testing.assert_array_equal(record.vector(), SPEC.initial_theta)
    assert record.prior().spec == SPEC
    assert np.exp(record.prior().theta[0]) == 1.0


def test_an_averaged_prior_names_all_that_went_in() -> None:
    assert (AVERAGED.version, AVERAGED.theta_version, AVERAGED.reason, AVERAGED.round) == (1, 1, "averaged", 1)
    opened = AVERAGED.opened
    assert opened is not None
    assert opened.plan == PLAN.digest()
    assert MADE.rounds[1].cohort is not None
    assert opened.cohort == MADE.rounds[1].cohort.message.digest()
    assert (opened.clients, opened.total_weight) == (4, 20)
    half = [
        (upper - lower) / (2**30 - 1) / 2 for lower, upper in zip(SPEC.bounds.lower, SPEC.bounds.upper, strict=True)
    ]
    for number, expected, bound in zip(AVERAGED.theta, (0.1, -0.2, 0.3), half, strict=True):
        assert abs(number - expected) <= bound * (1 + 1e-9)
    publication.verify_recomputed(AVERAGED, PLAN, COHORT, INITIAL)


def test_theta_follows_bit_for_bit_from_the_summed_vector_by_arithmetic_of_ones_own() -> None:
    assert AVERAGED.opened is not None
    *sums, weight = (int(word) for word in FIELD.from_bytes(AVERAGED.opened.sum, 4))
    assert weight == 20
    for number, total, lower, upper in zip(AVERAGED.theta, sums, SPEC.bounds.lower, SPEC.bounds.upper, strict=True):
        low, high = Fraction(float(lower)), Fraction(float(upper))
        assert number == float(low + (high - low) * Fraction(total, 20 * (2**30 - 1)))


def test_a_carried_prior_is_the_old_theta_as_a_new_version() -> None:
    assert (CARRIED.version, CARRIED.theta_version, CARRIED.reason, CARRIED.round) == (2, 1, "carried", 3)
    assert CARRIED.theta == AVERAGED.theta
    assert CARRIED.opened is None
    again = publication.carried(CARRIED, 4)
    assert (again.version, again.theta_version, again.round) == (3, 1, 4)
    with pytest.raises(VerificationError, match="nothing to recompute"):
        publication.verify_recomputed(CARRIED, PLAN, COHORT, AVERAGED)


PRIVACY = {
    "mechanism": "distributed-discrete-gaussian",
    "rounds": 1,
    "rho": 0.5,
    "delta": 1e-5,
    "epsilon": 5.3,
    "clamped": [],
}


@pytest.mark.parametrize("record", [INITIAL, AVERAGED, CARRIED], ids=lambda record: record.reason)
def test_one_encoding_and_one_decoding(record: PriorRecord) -> None:
    assert PriorRecord.decode(record.encode()) == record
    assert PriorRecord.decode(record.encode()).encode() == record.encode()
    signed = Signed[PriorRecord].make(MADE.service_key, record)
    Signed[PriorRecord].decode(signed.encode()).verify(MADE.anchors.service_key)
    np.testing.assert_array_equal(PriorRecord.decode(record.encode()).vector(), record.vector())


@pytest.mark.parametrize(
    ("record", "change", "reason"),
    [
        (AVERAGED, {"opened": None}, "says what was opened"),
        (CARRIED, {"opened": AVERAGED.to_json()["opened"]}, "says what was opened"),
        (INITIAL, {"round": 1}, "comes from no round"),
        (AVERAGED, {"round": None}, "comes from no round"),
        (INITIAL, {"privacy": PRIVACY}, "initial prior cost no privacy"),
        (AVERAGED, {"theta_version": 0}, "keeps an older theta"),
        (CARRIED, {"theta_version": 2}, "keeps an older theta"),
        (CARRIED, {"theta_version": 3}, "keeps an older theta"),
        (AVERAGED, {"theta_version": 5}, "keeps an older theta"),
        (AVERAGED, {"reason": "guessed"}, "reason"),
        (AVERAGED, {"round": 0}, "round"),
        (AVERAGED, {"version": -1}, "version"),
        (AVERAGED, {"theta": ["0", 0, 0]}, "theta"),
        (AVERAGED, {"theta": [True, 0, 0]}, "theta"),
        (AVERAGED, {"opened": AVERAGED.to_json()["opened"] | {"clients": 0}}, "clients"),
        (AVERAGED, {"opened": AVERAGED.to_json()["opened"] | {"plan": "AA=="}}, "plan"),
        (AVERAGED, {"colour": "blue"}, "colour"),
    ],
)
def test_a_record_is_coherent_and_strict(record: PriorRecord, change: dict[str, Any], reason: str) -> None:
    with pytest.raises(EncodingError, match=reason):
        PriorRecord.from_json(record.to_json() | change)


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"1e999"])
def test_no_theta_is_published_that_is_not_finite(number: bytes) -> None:
    first = canonical.encode(AVERAGED.theta[0])
    assert AVERAGED.encode().count(b"[" + first) == 1
    with pytest.raises(EncodingError):
        PriorRecord.decode(AVERAGED.encode().replace(b"[" + first, b"[" + number))


def test_a_theta_outside_its_model_s_bounds_is_no_prior() -> None:
    outside = PriorRecord.from_json(AVERAGED.to_json() | {"theta": [0.0, 99.0, 0.0]})
    with pytest.raises(EncodingError, match="noise sd"):
        outside.prior()
    short = PriorRecord.from_json(AVERAGED.to_json() | {"theta": [0.0, 0.0]})
    with pytest.raises(EncodingError):
        short.prior()


def nudged(theta: tuple[float, ...]) -> list[float]:
    return [math.nextafter(theta[0], 1.0), *theta[1:]]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"theta": nudged(AVERAGED.theta)}, "is not what its summed vector decodes to"),
        ({"theta": list(AVERAGED.theta[:2])}, "is not what its summed vector decodes to"),
        ({"opened": AVERAGED.to_json()["opened"] | {"total_weight": 21}}, "is not what"),
        ({"opened": AVERAGED.to_json()["opened"] | {"plan": canonical.to_text(bytes(32))}}, "another plan"),
        ({"round": 2}, "another plan"),
        ({"version": 5, "theta_version": 5}, "another plan"),
        ({"federation": "bridges"}, "another plan"),
        ({"opened": AVERAGED.to_json()["opened"] | {"cohort": canonical.to_text(bytes(32))}}, "another cohort"),
        ({"opened": AVERAGED.to_json()["opened"] | {"clients": 5}}, "another cohort"),
    ],
)
def test_any_change_to_an_averaged_record_is_found(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(VerificationError, match=reason):
        publication.verify_recomputed(PriorRecord.from_json(AVERAGED.to_json() | change), PLAN, COHORT, INITIAL)


@pytest.mark.parametrize("words", [(0, 0, 0, 3), (0, 0, 0, 4 * 65_535 + 1), (2**60, 0, 0, 20)])
def test_a_sum_that_honest_clients_cannot_send_is_refused(words: tuple[int, ...]) -> None:
    opened = AVERAGED.to_json()["opened"] | {"sum": canonical.to_text(FIELD.to_bytes(FIELD.array(words)))}
    record = PriorRecord.from_json(AVERAGED.to_json() | {"opened": opened})
    with pytest.raises(SumRefused):
        publication.verify_recomputed(record, PLAN, COHORT, INITIAL)


def test_the_codec_takes_bounds_from_the_model_and_bits_from_the_rules() -> None:
    codec = publication.codec_for(SPEC, AggregationRules(fraction_bits=20, weight_bits=10, weight_cap=1000))
    assert codec.names == ("signal sd", "noise sd", "length-scale of cycle")
    np.testing.assert_allclose(np.exp(codec.lower), [0.01, 0.01, 0.1])
    np.testing.assert_allclose(np.exp(codec.upper), [100, 10, 10_000])
    assert (codec.fraction_bits, codec.weight_bits, codec.weight_cap) == (20, 10, 1000)
    with pytest.raises(EncodingError, match="weight cap"):
        publication.codec_for(SPEC, AggregationRules(weight_bits=10))


def test_a_federation_s_priors_follow_one_another_through_ten_features() -> None:
    features = [Feature(f"sensor {number}", "1", -1.0, 1.0) for number in range(10)]
    spec = ModelSpec.with_default_bounds(features, Target("load", "kN", "none"), "matern-3/2")
    made = Federation(4, spec=spec)
    for number in (1, 2):
        record = made.run({name: (np.full(12, -0.01 * number), 1) for name in made.names})
        assert record is not None
        assert (record.version, record.federation) == (number, NAME)
        state = made.rounds[number]
        assert state.cohort is not None
        publication.verify_recomputed(record, state.plan.message, state.cohort.message, made.priors[number - 1])

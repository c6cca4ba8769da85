"""Whole rounds under differential privacy: what is opened is the exact sum plus every client's noise, and no more."""

import math
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest

from fgpr.errors import SumRefused, VerificationError
from fgpr.federated import accounting, publication
from fgpr.federated.publication import PriorRecord
from fgpr.secagg import discrete_gaussian
from fgpr.secagg.contributor import FIELD
from fgpr.secagg.differences import DifferenceCodec, codec_of
from fgpr.secagg.field import MERSENNE_61
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.privacy import PrivacyRules
from fgpr.secagg.stages import Event
from support.federation import Federation

RULES = AggregationRules(weighting="uniform", min_cohort=4, privacy=PrivacyRules(clip=0.5, noise=1.0))


def updates(federation: Federation, step: float) -> dict[str, np.ndarray]:
    start = federation.prior.vector()
    return {name: start + step * np.array([1.0, -1.0, 0.1 * place]) for place, name in enumerate(federation.names)}


def a_round(federation: Federation, step: float = 0.01) -> PriorRecord:
    federation.plan()
    for name, values in updates(federation, step).items():
        federation.contribute(name, values, 7)
    federation.close()
    for name in federation.names:
        federation.open(name)
    return federation.finish()


def verified(federation: Federation) -> None:
    federation.verified()


def test_the_opened_sum_is_the_exact_sum_plus_all_noises_in_the_field() -> None:
    federation = Federation(5, RULES, logs_all=True)
    noises: list[list[int]] = []
    sample = discrete_gaussian.sample

    def recorded(variance: Fraction, count: int, random_bytes: discrete_gaussian.RandomBytes) -> list[int]:
        noises.append(sample(variance, count, random_bytes))
        return noises[-1]

    wanted = updates(federation, 0.01)
    with patch.object(discrete_gaussian, "sample", recorded):
        record = a_round(federation)
    plan = federation.now.plan.message
    codec = codec_of(plan)
    assert isinstance(codec, DifferenceCodec)
    assert record.opened is not None
    total = [
        (sum(codec.quanta(values)[0][place] for values in wanted.values()) + sum(noise[place] for noise in noises))
        % MERSENNE_61
        for place in range(3)
    ]
    assert FIELD.from_bytes(record.opened.sum, 4).tolist() == [*total, 5]
    assert (record.opened.clients, record.opened.total_weight) == (5, 5)
    assert federation.now.cohort is not None
    publication.verify_recomputed(record, plan, federation.now.cohort.message, federation.priors[0])
    # Five shares of sigma^2 / 3 around the mean step: a standard deviation of 0.5 sqrt(5 / 3) / 5 a number.
    away = record.vector() - federation.priors[0].vector() - np.array([0.01, -0.01, 0.002])
    assert 0 < np.abs(away).max() < 6 * 0.5 * math.sqrt(5 / 3) / 5


def test_without_noise_the_average_is_the_exact_one_to_half_a_quantum() -> None:
    federation = Federation(5, RULES, logs_all=True)
    with patch.object(discrete_gaussian, "sample", return_value=[0, 0, 0]):
        record = a_round(federation)
    exact = federation.priors[0].vector() + np.array([0.01, -0.01, 0.002])
    assert np.abs(record.vector() - exact).max() <= 0.5 / 2**20 / 2 + 1e-15


def test_each_prior_says_what_all_rounds_cost_and_the_log_verifies() -> None:
    federation = Federation(5, RULES, logs_all=True)
    records = [a_round(federation) for _ in range(3)]
    for number, record in enumerate(records, start=1):
        told = record.privacy
        assert told is not None
        assert (told.rounds, told.delta, told.mechanism) == (number, 1e-5, "distributed-discrete-gaussian")
        # z = 1: 1/2 a round.
        assert told.rho == pytest.approx(number / 2, rel=1e-12)
        assert told.epsilon == accounting.epsilon(told.rho, 1e-5)
    verified(federation)


def test_void_and_carried_rounds_are_counted() -> None:
    federation = Federation(5, RULES, logs_all=True)
    federation.plan()
    federation.contribute("client-00", federation.prior.vector())
    federation.abort(Event.TOO_FEW_CONTRIBUTIONS)
    for name in federation.names:
        federation.open(name)
    federation.settle()
    first = a_round(federation)
    federation.plan()
    federation.contribute("client-00", federation.prior.vector())
    federation.abort(Event.TOO_FEW_CONTRIBUTIONS)
    federation.settle()
    carried, last = federation.prior, a_round(federation)
    assert carried.reason == "carried"
    rounds = [record.privacy.rounds for record in (first, carried, last) if record.privacy is not None]
    assert rounds == [2, 3, 4]
    assert last.privacy is not None
    assert last.privacy.rho == pytest.approx(4 / 2, rel=1e-12)
    verified(federation)


@pytest.mark.parametrize(
    "change", [None, {"rounds": 1}, {"rho": 0.5}, {"epsilon": 0.1}, {"delta": 1e-4}, {"clamped": ("noise sd",)}]
)
def test_a_prior_that_says_it_cost_less_is_found_in_the_log(change: dict[str, object] | None) -> None:
    federation = Federation(5, RULES, logs_all=True)
    a_round(federation)
    leaves = len(federation.log.leaves)
    record = a_round(federation)
    assert record.privacy is not None
    verified(federation)
    del federation.log.leaves[-1]
    assert len(federation.log.leaves) > leaves
    told = None if change is None else record.privacy.model_copy(update=change)
    federation.publish(record.model_copy(update={"privacy": told}))
    with pytest.raises(VerificationError, match="prior 2 does not say what its rounds cost in privacy"):
        verified(federation)


def test_what_noise_carries_out_of_bounds_is_at_the_bound_and_said() -> None:
    federation = Federation(
        5,
        AggregationRules(weighting="uniform", min_cohort=4, privacy=PrivacyRules(clip=3, noise=9)),
        logs_all=True,
    )
    record = a_round(federation)
    bounds = federation.spec.bounds
    assert record.privacy is not None
    assert record.privacy.clamped
    for name, number, lower, upper in zip(bounds.names, record.theta, bounds.lower, bounds.upper, strict=True):
        assert (number in (lower, upper)) == (name in record.privacy.clamped)
    verified(federation)
    state = federation.now
    assert state.cohort is not None
    publication.verify_recomputed(record, state.plan.message, state.cohort.message, federation.priors[0])


def test_a_client_that_contributes_without_the_difference_encoding_is_found() -> None:
    federation = Federation(5, RULES, logs_all=True)
    federation.plan()
    for name in federation.names[1:]:
        federation.contribute(name, federation.prior.vector())
    liar = "client-00"
    with patch.object(DifferenceCodec, "encode", lambda self, x, _: self.codec.encode(x, 1)):
        federation.contribute(liar, federation.prior.vector() + 1.0)
    federation.close()
    for name in federation.names:
        federation.open(name)
    # A level of the unsigned encoding is some 2^29, far beyond five clips of 2^20.
    with pytest.raises(SumRefused, match="beyond what 5 clients and their noise"):
        federation.finish()


def test_the_initial_prior_cost_nothing() -> None:
    federation = Federation(5, RULES, logs_all=True)
    record = federation.prior
    assert record.privacy is None
    spent = a_round(federation).privacy
    assert spent is not None
    with pytest.raises(ValueError, match="an initial prior cost no privacy"):
        PriorRecord.model_validate(dict(record) | {"privacy": spent})


def test_groups_and_noise_are_not_combined() -> None:
    with pytest.raises(ValueError, match="3 groups under differential privacy"):
        AggregationRules(weighting="uniform", groups=3, combine="median", privacy=PrivacyRules(clip=1, noise=1))

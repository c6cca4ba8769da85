"""The average of experiments is the protocol's: the same integers, the same noise, the same cost."""

import math
import random

import numpy as np
import pytest

from fgpr.errors import CommitteeError, DataError, EncodingError
from fgpr.federated import publication
from fgpr.federated.fedavg import Contribution
from fgpr.federated.noised_average import NoisedAverage
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.privacy import PrivacyRules
from support.federation import SPEC, Federation

CODEC = publication.codec_for(SPEC, AggregationRules(weighting="uniform"))
START = np.array([0.1, -0.9, 3.0])


def contributions(count: int, step: float = 0.01) -> list[Contribution]:
    return [Contribution(f"client-{number:02d}", START + step * number, 100 + number) for number in range(count)]


def noised(noise: float, clip: float = 1.0, min_cohort: int = 9, seed: int = 1) -> NoisedAverage:
    return NoisedAverage(
        CODEC, PrivacyRules(clip=clip, noise=noise), START, min_cohort, 0.2, random.Random(seed).randbytes
    )


def test_with_hardly_any_noise_it_is_the_uniform_average() -> None:
    average = noised(1e-6)
    np.testing.assert_allclose(average(contributions(10)), START + 0.045, atol=1e-5)
    assert (average.shrunk, average.clamped) == (0, 0)


def test_it_counts_what_rounds_cost_and_goes_on_from_where_it_ended() -> None:
    average = noised(2.0, clip=0.05)
    first = average(contributions(10))
    assert average.rho == 1 / 8
    # Steps above 0.05 / sqrt(3) = 0.029 are shrunk: those of clients 3 to 9.
    assert average.shrunk == 7
    second = average([one._replace(theta=first) for one in contributions(10)])
    assert average.rho == 2 / 8
    assert average.shrunk == 7
    # Ten shares of (0.1)^2 / 7, averaged: a standard deviation of 0.012.
    assert 0 < np.abs(second - first).max() < 6 * 0.1 * math.sqrt(10 / 7) / 10


def test_the_noise_has_the_deviation_that_the_rules_say() -> None:
    still = [Contribution(f"{number}", START, 1) for number in range(10)]
    drawn = [noised(0.5, clip=0.2, seed=seed)(still) - START for seed in range(300)]
    wanted = 0.1 * math.sqrt(10 / 7) / 10
    assert np.std(drawn) == pytest.approx(wanted, rel=4 * math.sqrt(1 / 1800))


def test_it_is_what_a_masked_round_opens_with_the_same_noise() -> None:
    rules = AggregationRules(weighting="uniform", min_cohort=4, privacy=PrivacyRules(clip=0.5, noise=1.0))
    federation = Federation(5, rules)
    federation.plan()
    start = federation.prior.vector()
    thetas = [start + 0.02 * number for number in range(5)]
    drawn: list[bytes] = []
    draw = federation.random_bytes

    def recorded(count: int) -> bytes:
        drawn.append(draw(count))
        return drawn[-1]

    tape: list[bytes] = []
    for name, theta in zip(federation.names, thetas, strict=True):
        drawn.clear()
        federation.random_bytes = recorded
        federation.contribute(name, theta)
        # The last two draws are the mask's and the coefficients'.
        tape += [raw for raw in drawn if len(raw) < 8 * 4]
    federation.random_bytes = draw
    federation.close()
    for name in federation.names:
        federation.open(name)
    opened = federation.finish().vector()
    left = iter(tape)
    average = NoisedAverage(CODEC, PrivacyRules(clip=0.5, noise=1.0), start, 4, 0.2, lambda _: next(left))
    np.testing.assert_array_equal(
        average([Contribution(name, theta, 1) for name, theta in zip(federation.names, thetas, strict=True)]), opened
    )
    assert next(left, None) is None


@pytest.mark.parametrize(("count", "min_cohort"), [(8, 9), (0, 9), (10, 2)])
def test_cohorts_without_sure_honest_clients_are_refused(count: int, min_cohort: int) -> None:
    with pytest.raises((DataError, CommitteeError)):
        noised(1.0, min_cohort=min_cohort)(contributions(count))


def test_what_cannot_be_encoded_is_refused() -> None:
    with pytest.raises(EncodingError, match="only finite numbers"):
        noised(1.0)([Contribution("a", [math.nan, 0.0, 0.0], 1), *contributions(9)])

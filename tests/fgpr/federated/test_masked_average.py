import random

import numpy as np
import pytest

from fgpr.errors import CapacityError, CommitteeError, EncodingError
from fgpr.federated.fedavg import Contribution, weighted_average
from fgpr.federated.masked_average import masked_average
from fgpr.federated.simulation import Aggregate, LocalData, simulate
from fgpr.gp.arrays import Array
from fgpr.gp.hyperparameters import Bounds, theta_names
from fgpr.gp.kernels.kernel import kernel_named
from fgpr.gp.training_settings import TrainingSettings
from fgpr.secagg.encoding import Codec

BOUNDS = Bounds.from_natural(theta_names(1), [0.01, 0.01, 0.01], [100.0, 10.0, 100.0])
CODEC = Codec(BOUNDS.names, tuple(map(float, BOUNDS.lower)), tuple(map(float, BOUNDS.upper)))
HALF_QUANTUM = (np.array(CODEC.upper) - np.array(CODEC.lower)) / (2**30 - 1) / 2


def random_bytes(seed: int = 7) -> random.Random:
    return random.Random(seed)


def contributions(count: int) -> list[Contribution]:
    draws = np.random.default_rng(3)
    return [
        Contribution(f"engine {number}", draws.uniform(-2, 2, 3), int(draws.integers(1, 500)))
        for number in range(count)
    ]


@pytest.mark.parametrize("count", [3, 4, 5, 20])
def test_the_average_is_the_plain_one_within_half_a_quantum(count: int) -> None:
    given = contributions(count)
    masked = masked_average(CODEC, random_bytes().randbytes)(given)
    assert np.all(np.abs(masked - weighted_average(given)) <= HALF_QUANTUM + 1e-15)


def test_the_result_depends_on_no_random_byte() -> None:
    given = contributions(5)
    results = [masked_average(CODEC, random_bytes(seed).randbytes)(given) for seed in (1, 2)]
    np.testing.assert_array_equal(results[0], results[1])


def test_a_simulation_gives_the_same_with_masks_within_half_a_quantum_a_round() -> None:
    draws = np.random.default_rng(5)
    data = []
    for name, rows in (("a", 20), ("b", 35), ("c", 11), ("d", 16), ("e", 27)):
        x = np.sort(draws.uniform(0, 10, rows))
        data.append(LocalData(name, x[:, None], np.sin(x) + 0.2 * draws.normal(size=rows)))
    # A first-order rule: what a half quantum changes in the start of a round it changes in its end, about.
    settings = TrainingSettings("sgd", 0.05, 0.0, 3, None)
    start = np.log([1.0, 0.5, 2.0])

    def run(aggregate: Aggregate) -> list[Array]:
        draws = np.random.default_rng(2)
        history = simulate(kernel_named("rbf"), data, start, settings, BOUNDS, 3, draws, aggregate=aggregate)
        return [each.theta for each in history]

    plain, masked = run(weighted_average), run(masked_average(CODEC, random_bytes().randbytes))
    assert np.all(np.abs(plain[0] - masked[0]) <= HALF_QUANTUM + 1e-15)
    for number in (1, 2):
        assert np.all(np.abs(plain[number] - masked[number]) <= 3 * (number + 1) * HALF_QUANTUM)
    assert np.max(np.abs(plain[2] - start)) > 1e-3


def test_a_client_of_weight_0_takes_no_part() -> None:
    given = contributions(4)
    given.insert(1, Contribution("nobody", [9.0, 9.0, 9.0], 0))
    masked = masked_average(CODEC, random_bytes().randbytes)(given)
    assert np.all(np.abs(masked - weighted_average(given)) <= HALF_QUANTUM + 1e-15)


def test_two_clients_are_too_few_to_hide_in() -> None:
    with pytest.raises(CommitteeError, match="min_cohort 3 is more than the 2 invited"):
        masked_average(CODEC, random_bytes().randbytes)(contributions(2))


def test_more_clients_than_the_field_takes_are_refused() -> None:
    wide = Codec(CODEC.names, CODEC.lower, CODEC.upper, fraction_bits=43)
    with pytest.raises(CapacityError, match="at most 4 clients fit"):
        masked_average(wide, random_bytes().randbytes)(contributions(5))


@pytest.mark.parametrize(("theta", "reason"), [([0.0, np.nan, 0.0], "only finite"), ([0.0, 0.0], "3 numbers")])
def test_a_theta_out_of_form_is_refused(theta: list[float], reason: str) -> None:
    with pytest.raises(EncodingError, match=reason):
        masked_average(CODEC, random_bytes().randbytes)([*contributions(3), Contribution("odd", theta, 1)])

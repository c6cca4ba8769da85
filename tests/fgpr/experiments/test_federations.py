"""FGPR's forms: averages near the exact optimum, weights, and the kernel that evidence chooses."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from fgpr.errors import DataError
from fgpr.experiments import federations
from fgpr.experiments.federations import FULL_BATCHES, Learned, averaged, chosen, descended, leave_one_out_loss, optimum
from fgpr.experiments.generators import gaussian_process
from fgpr.experiments.models import model, predicted
from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array

TRUTH = np.log([1.0, 0.1, 0.25])


@pytest.fixture(scope="module")
def clients() -> tuple[LocalData, ...]:
    return gaussian_process(model(1, "rbf").correlation, TRUTH, [60, 40, 30], 1, np.random.default_rng(3))


def test_averages_come_near_the_exact_optimum(clients: tuple[LocalData, ...]) -> None:
    spec = model(1, "rbf")
    best = optimum(spec, clients)
    found = averaged(spec, clients, replace(FULL_BATCHES, rounds=30), np.random.default_rng(0))
    assert best.loss <= found.loss <= best.loss + 0.02
    assert best.theta == pytest.approx(TRUTH, abs=0.5)


def test_a_descent_on_sums_comes_to_the_exact_optimum_in_few_iterations(clients: tuple[LocalData, ...]) -> None:
    spec = model(1, "rbf")
    best = optimum(spec, clients)
    assert descended(spec, clients, 40, 1.0).loss == pytest.approx(best.loss, abs=1e-6)
    assert descended(spec, clients, 1, 1.0).loss > best.loss + 1e-3


def test_weights_by_rows_are_the_pooled_objective(clients: tuple[LocalData, ...]) -> None:
    spec = model(1, "rbf")
    rows = [client.y.size for client in clients]
    assert optimum(spec, clients, rows).theta == pytest.approx(optimum(spec, clients).theta, abs=1e-2)


def test_all_weight_on_one_client_is_its_own_optimum(clients: tuple[LocalData, ...]) -> None:
    spec = model(1, "rbf")
    alone = optimum(spec, clients[:1])
    assert optimum(spec, clients, [1.0, 0.0, 0.0]).theta == pytest.approx(alone.theta, abs=1e-2)


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0, 1.0], [0.0, 0.0, 0.0]])
def test_weights_that_are_none_are_refused(clients: tuple[LocalData, ...], weights: list[float]) -> None:
    with pytest.raises(DataError, match="one each, none below 0"):
        federations.weighted_optimum(model(1, "rbf"), clients, weights)


@pytest.mark.parametrize("evidence", ["likelihood", "leave-one-out"])
def test_evidence_chooses_the_kernel_that_made_the_data(evidence: str) -> None:
    rough, smooth = model(1, "matern-1/2"), model(1, "rbf")
    rng = np.random.default_rng(5)
    for truth in (rough, smooth):
        clients = gaussian_process(truth.correlation, np.log([1.0, 0.02, 0.3]), [60] * 4, 1, rng)
        found = chosen([rough, smooth], clients, optimum, evidence)  # type: ignore[arg-type]  # one of the two
        assert found.spec == truth


def test_leave_one_out_leaves_one_out(clients: tuple[LocalData, ...]) -> None:
    spec, total = model(1, "rbf"), 0.0
    small = LocalData("small", clients[0].X[:8], clients[0].y[:8])
    for place in range(8):
        others = np.delete(np.arange(8), place)
        rest = LocalData("rest", small.X[others], small.y[others])
        mean = predicted(spec, TRUTH, rest, small.X[[place]])[0]
        gram = _covariance(small.X, small.X)
        inverse = np.linalg.inv(gram[np.ix_(others, others)] + 0.01 * np.eye(7))
        variance = gram[place, place] + 0.01 - gram[place, others] @ inverse @ gram[others, place]
        total -= norm.logpdf(small.y[place], mean, np.sqrt(variance))
    assert leave_one_out_loss(Learned(spec, TRUTH, 0.0), [small]) == pytest.approx(total / 8, rel=1e-8)


def test_no_models_is_refused(clients: tuple[LocalData, ...]) -> None:
    with pytest.raises(DataError, match="no models"):
        chosen([], clients, optimum)


def _covariance(one: Array, other: Array) -> Array:
    covariance: Array = np.exp(-((one - other.T) ** 2) / (2 * 0.25**2))
    return covariance

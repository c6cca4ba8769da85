"""FGPR's forms: averages near the exact optimum, and weights."""

import numpy as np
import pytest

from fgpr.errors import DataError
from fgpr.experiments.federations import Settings, averaged, descended, optimum, weighted_optimum
from fgpr.experiments.generators import gaussian_process
from fgpr.experiments.models import model
from fgpr.federated.simulation import LocalData
from fgpr.gp.training_settings import TrainingSettings

TRUTH = np.log([1.0, 0.1, 0.25])


@pytest.fixture(scope="module")
def clients() -> tuple[LocalData, ...]:
    return gaussian_process(model(1, "rbf").correlation, TRUTH, [60, 40, 30], 1, np.random.default_rng(3))


def test_averages_come_near_the_exact_optimum(clients: tuple[LocalData, ...]) -> None:
    spec = model(1, "rbf")
    best = optimum(spec, clients)
    all_rows = Settings(TrainingSettings("adam", 0.1, decay=0.01, steps=5), 30)
    found = averaged(spec, clients, all_rows, np.random.default_rng(0))
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
    assert weighted_optimum(spec, clients, rows) == pytest.approx(optimum(spec, clients).theta, abs=1e-2)


def test_all_weight_on_one_client_is_its_own_optimum(clients: tuple[LocalData, ...]) -> None:
    spec = model(1, "rbf")
    alone = optimum(spec, clients[:1])
    assert weighted_optimum(spec, clients, [1.0, 0.0, 0.0]) == pytest.approx(alone.theta, abs=1e-2)


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0, 1.0], [0.0, 0.0, 0.0]])
def test_weights_that_are_none_are_refused(clients: tuple[LocalData, ...], weights: list[float]) -> None:
    with pytest.raises(DataError, match="one each, none below 0"):
        weighted_optimum(model(1, "rbf"), clients, weights)

"""The ablation on few rows: the high fidelity has the weight that its item says."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from fgpr.experiments import demonstrations
from fgpr.experiments.federations import MINI_BATCHES
from fgpr.experiments.models import model
from fgpr.experiments.problems import Drawn, problem_named
from fgpr.experiments.records import Cell
from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array
from fgpr.gp.local_training import train


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """Fidelities that want very different thetas; fewer rows than a batch, so that nothing is drawn in training."""
    rng = np.random.default_rng(0)
    high, low, X = (rng.random((rows, 2)) for rows in (12, 18, 50))
    clients = (
        LocalData("high", high, np.sin(9.0 * high[:, 0]) + high[:, 1] + 0.1 * rng.normal(size=12)),
        LocalData("low", low, 3.0 * np.sin(2.0 * low[:, 1]) + 0.6 * rng.normal(size=18)),
    )
    made = Drawn(problem_named("CURRIN"), clients, X, np.sin(9.0 * X[:, 0]) + X[:, 1])
    monkeypatch.setattr(demonstrations, "draw_problem", lambda _problem, _design, _seed: made)
    return made


def _rmse(drawn: Drawn, theta: Array) -> float:
    signal, noise, *lengths = np.exp(theta)
    kernel = ConstantKernel(signal**2) * RBF(lengths)
    peer = GaussianProcessRegressor(kernel, alpha=noise**2, optimizer=None)
    peer.fit(drawn.clients[0].X, drawn.clients[0].y)
    return float(np.sqrt(np.mean((peer.predict(drawn.X) - drawn.y) ** 2)))


def _loss(client: LocalData, theta: Array) -> float:
    """Nats a point."""
    signal, noise, *lengths = np.exp(theta)
    squares = (((client.X[:, np.newaxis] - client.X) / lengths) ** 2).sum(axis=2)
    covariance = signal**2 * np.exp(-0.5 * squares) + noise**2 * np.eye(client.y.size)
    return float(-multivariate_normal(np.zeros(client.y.size), covariance).logpdf(client.y)) / client.y.size


@pytest.mark.parametrize("share", [0.17, 0.3, 0.9])
def test_a_round_of_the_ablation_is_the_average_by_the_share_of_the_high_fidelity(
    share: float, drawn: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demonstrations, "MINI_BATCHES", replace(MINI_BATCHES, rounds=1))
    spec = model(2, "rbf")
    high, low = (
        train(
            spec.correlation,
            client.X,
            client.y,
            spec.initial_theta,
            MINI_BATCHES.training,
            spec.bounds,
            np.random.default_rng(0),
        ).theta
        for client in drawn.clients
    )
    expected = _rmse(drawn, share * high + (1.0 - share) * low)
    values = demonstrations.ablation(Cell("ablation", f"{share}", "", "fgpr", 1))
    assert values["rmse"] == pytest.approx(expected, rel=1e-9)
    assert values["rmse"] != pytest.approx(_rmse(drawn, (1.0 - share) * high + share * low), rel=1e-2)


@pytest.mark.parametrize("share", [0.3, 0.9, 1.0])
def test_the_optimum_of_the_ablation_weighs_the_high_fidelity_by_its_share(share: float, drawn: Drawn) -> None:
    high, low = drawn.clients
    spec = model(2, "rbf")

    def best(of_high: float) -> Array:
        box = list(zip(spec.bounds.lower, spec.bounds.upper, strict=True))
        found: Array = minimize(
            lambda theta: of_high * _loss(high, theta) + (1.0 - of_high) * _loss(low, theta),
            spec.initial_theta,
            method="L-BFGS-B",
            bounds=box,
        ).x
        return found

    values = demonstrations.ablation(Cell("ablation", f"{share}", "", "fgpr-optimum", 1))
    assert values["rmse"] == pytest.approx(_rmse(drawn, best(share)), rel=1e-3)
    assert values["rmse"] != pytest.approx(_rmse(drawn, best(1.0 - share)), rel=1e-2)

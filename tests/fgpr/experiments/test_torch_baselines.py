"""The PyTorch baselines: a clear error without PyTorch; with it (.venv-paper), what they learn."""

import importlib.util

import numpy as np
import pytest

from fgpr.errors import DataError
from fgpr.experiments import deep, neural
from fgpr.experiments.generators import opposite_sines
from fgpr.experiments.neural import Networks, NeuralSettings
from fgpr.experiments.problems import draw_problem, problem_named
from fgpr.federated.simulation import LocalData

with_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed (make setup-paper)"
)


def test_without_pytorch_they_say_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neural, "torch", None)
    monkeypatch.setattr(deep, "gpytorch", None)
    assert not neural.torch_is_here()
    with pytest.raises(DataError, match="make setup-paper"):
        Networks(opposite_sines(), NeuralSettings(), 0)
    with pytest.raises(DataError, match="make setup-paper"):
        deep.deep_mean(opposite_sines(), np.zeros((1, 1)), 0)


@with_torch
def test_a_shared_network_learns_a_shared_curve() -> None:
    rng = np.random.default_rng(0)
    clients = [LocalData(name, X, np.sin(4.0 * X[:, 0])) for name in ("a", "b") for X in [rng.random((80, 1))]]
    trained = Networks(clients, NeuralSettings(rounds=60), 0)
    X = np.linspace(0.0, 1.0, 50)[:, np.newaxis]
    assert np.sqrt(np.mean((trained.predict(X) - np.sin(4.0 * X[:, 0])) ** 2)) < 0.1


@with_torch
def test_a_shared_network_fails_on_opposite_curves_where_ditto_does_not() -> None:
    clients = [LocalData(c.client, c.X / 10.0, c.y) for c in opposite_sines()]
    trained = Networks(clients, NeuralSettings(rounds=150, width=32, proximity=0.01), 0, personal=True)
    shared, own = trained.predict(clients[0].X), trained.predict(clients[0].X, 0)
    assert np.sqrt(np.mean(shared**2)) < 0.35
    assert np.mean((own - clients[0].y) ** 2) < 0.6 * np.mean((shared - clients[0].y) ** 2)


@with_torch
def test_without_proximity_what_others_have_does_not_reach_a_client() -> None:
    rng = np.random.default_rng(1)
    clients = [
        LocalData(name, rng.random((count, 2)), rng.normal(size=count))
        for name, count in zip("abc", (30, 50, 50), strict=True)
    ]
    settings = NeuralSettings(rounds=4, width=8, proximity=0.0)
    X = rng.random((20, 2))
    one, other = (Networks([clients[0], beside], settings, 0, personal=True) for beside in clients[1:])
    assert one.predict(X, 0) == pytest.approx(other.predict(X, 0), abs=1e-6)
    assert np.abs(one.predict(X, 1) - other.predict(X, 1)).max() > 1e-3
    assert np.abs(one.predict(X) - other.predict(X)).max() > 1e-3


@with_torch
def test_a_strong_proximity_keeps_clients_at_the_shared_network() -> None:
    clients = [LocalData(c.client, c.X / 10.0, c.y) for c in opposite_sines()]
    apart = {}
    for proximity in (0.0, 100.0):
        trained = Networks(clients, NeuralSettings(rounds=30, width=16, proximity=proximity), 0, personal=True)
        apart[proximity] = np.abs(trained.predict(clients[0].X, 0) - trained.predict(clients[0].X)).mean()
    assert apart[100.0] < 0.1 * apart[0.0]


@with_torch
@pytest.mark.filterwarnings("ignore")
def test_a_deep_process_uses_the_lower_fidelity() -> None:
    drawn = draw_problem(problem_named("linear"), "uniform", 0)
    mean = deep.deep_mean(drawn.clients, drawn.X, 0, deep.DeepSettings(100, 150, samples=2))
    assert drawn.rmse(mean) < 0.5

"""The PyTorch baselines: a clear error without PyTorch; with it (.venv-paper), what they learn."""

import importlib.util

import numpy as np
import pytest

from fgpr.errors import DataError
from fgpr.experiments import deep, neural
from fgpr.experiments.generators import opposite_sines
from fgpr.experiments.models import model, predicted
from fgpr.experiments.neural import Networks, NeuralSettings
from fgpr.experiments.problems import draw_problem, problem_named
from fgpr.experiments.separate import separate
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
    # Twenty rows of Forrester's function do not show its valley; a hundred of a straight transform of it do.
    drawn = draw_problem(problem_named("linear"), "uniform", 0)
    few = [LocalData("high", drawn.clients[0].X[:8], drawn.clients[0].y[:8]), drawn.clients[1]]
    mean = deep.deep_mean(few, drawn.X, 0)
    spec = model(1, "rbf")
    alone = separate(spec, few[0], np.random.default_rng(0))
    assert drawn.rmse(mean) < 0.1
    assert drawn.rmse(mean) < 0.5 * drawn.rmse(predicted(spec, alone.theta, few[0], drawn.X))


@with_torch
@pytest.mark.filterwarnings("ignore")
def test_one_level_of_a_deep_process_is_the_librarys_gaussian_process() -> None:
    drawn = draw_problem(problem_named("CURRIN"), "uniform", 0)
    spec, high = model(2, "rbf"), drawn.clients[0]
    alone = separate(spec, high, np.random.default_rng(0))
    mean = deep.deep_mean([high], drawn.X, 0)
    assert mean == pytest.approx(predicted(spec, alone.theta, high, drawn.X), abs=0.02)


@with_torch
@pytest.mark.filterwarnings("ignore")
def test_a_deep_process_is_the_same_for_the_same_seed() -> None:
    drawn = draw_problem(problem_named("linear"), "uniform", 0)
    settings = deep.DeepSettings(lengths=(0.4,), samples=4)
    first, again = (deep.deep_mean(drawn.clients, drawn.X[:20], 3, settings) for _ in range(2))
    assert np.array_equal(first, again)

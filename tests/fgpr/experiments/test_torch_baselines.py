"""The PyTorch baselines: a clear error without PyTorch; with it (.venv-paper), what they learn."""

import importlib.util
import sys
from dataclasses import replace

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
from fgpr.gp.arrays import Array
from fgpr.gp.optimisers import Minimum

with_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed (make setup-paper)"
)


def test_without_pytorch_they_say_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "gpytorch", None)
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
def test_a_round_is_the_average_of_local_networks_by_rows() -> None:
    # Without hidden layers a network is at 0 its bias, and Adam's first step has the length of its rate.
    clients = [LocalData(f"{y}", np.zeros((rows, 1)), np.full(rows, y)) for rows, y in ((30, 100.0), (10, -100.0))]
    settings, origin = NeuralSettings(layers=0, rounds=2, steps=1, rate=0.01), np.zeros((1, 1))
    begun = Networks(clients, replace(settings, rounds=0), 0).predict(origin)
    moved = Networks(clients, settings, 0).predict(origin) - begun
    # Three quarters of the rows pull upwards; the cosine is 1 in the first round of two and 0 in the second.
    assert moved == pytest.approx([(0.75 - 0.25) * 0.01 * (1.0 + 0.505)], rel=1e-3)


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


@with_torch
@pytest.mark.filterwarnings("ignore")
def test_a_deep_process_carries_draws_of_lower_levels_upwards(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def untrained(_objective: object, starts: list[Array], *_box: Array, tolerance: float) -> Minimum:
        return Minimum(starts[0], 0.0, (), True, f"{tolerance}", 0)

    monkeypatch.setattr(deep, "best_descent", untrained)
    rng = np.random.default_rng(0)
    levels = [LocalData(f"{rows}", rng.random((rows, 1)), rng.normal(size=rows)) for rows in (9, 6, 4)]
    X = np.linspace(-0.5, 1.5, 5)[:, np.newaxis]

    def bell(a: Array, b: Array, length: float) -> Array:
        covariance: Array = np.exp(-((a[:, np.newaxis] - b) ** 2) / (2.0 * length**2))
        return covariance

    def k(a: Array, b: Array) -> Array:
        if a.shape[1] == 1:
            return bell(a[:, 0], b[:, 0], 0.4)
        through = np.outer(a[:, 1], b[:, 1]) + 0.1 * bell(a[:, 1], b[:, 1], 1.0)
        return bell(a[:, 0], b[:, 0], 1.5) * through + 0.1 * bell(a[:, 0], b[:, 0], 0.4)

    def at(rows: Array, y: Array, there: Array) -> tuple[Array, Array]:
        solved = np.linalg.solve(k(rows, rows) + 0.01 * np.eye(len(rows)), np.column_stack([y, k(rows, there)]))
        cross = k(there, rows)
        return cross @ solved[:, 0], np.diag(k(there, there) - cross @ solved[:, 1:])

    known: list[tuple[Array, Array]] = []
    for level in levels:
        inputs = level.X
        for rows, y in known:
            inputs = np.column_stack([level.X, at(rows, y, inputs)[0]])
        known.append((inputs, level.y))
    torch.manual_seed(11)
    normals = [torch.randn(3, 5, dtype=torch.float64).numpy() for _ in range(2)]
    means, undrawn = [], X
    for draw in range(3):
        inputs = X
        for (rows, y), normal in zip(known[:2], normals, strict=True):
            mean, variance = at(rows, y, inputs)
            inputs = np.column_stack([X, mean + np.sqrt(variance) * normal[draw]])
        means.append(at(*known[2], inputs)[0])
    for rows, y in known[:2]:
        undrawn = np.column_stack([X, at(rows, y, undrawn)[0]])
    expected = np.mean(means, axis=0)
    assert np.abs(expected - at(*known[2], undrawn)[0]).max() > 0.1
    found = deep.deep_mean(levels[::-1], X, 11, deep.DeepSettings(samples=3))
    assert found == pytest.approx(expected, abs=1e-6)

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from demo import scores
from demo.fleet import Engine, Fleet, NewEngine
from demo.scores import Score
from fgpr.gp.arrays import Array
from fgpr.gp.model import Feature, ModelSpec, Target

SPEC = ModelSpec.with_default_bounds(
    [Feature("cycle", "cycles", 0.0, 100.0)], Target("s4", "degR", "standardise"), "rbf"
)
THETA = np.log([1.1, 0.5, 20.0])


def engine(name: str, seed: int, rows: int) -> Engine:
    rng = np.random.default_rng(seed)
    cycles = np.sort(rng.choice(100, rows, replace=False)).astype(np.float64)
    return Engine(name, cycles, 1400 + 20 * np.sin(cycles / 25) + rng.normal(0, 4, rows))


def newcomer(name: str, seed: int) -> NewEngine:
    whole = engine(name, seed, 40)
    return NewEngine(
        Engine(name, whole.cycles[::2], whole.values[::2]), Engine(name, whole.cycles[1::2], whole.values[1::2])
    )


def test_errors_are_those_of_scikit_learn_in_each_engine_s_own_sd() -> None:
    new = [newcomer("engine-001", 1), newcomer("engine-002", 2)]
    signal, noise, scale = np.exp(THETA)
    expected, inside = [], []
    for one in new:
        mean, sd = one.known.values.mean(), one.known.values.std()
        model = GaussianProcessRegressor(ConstantKernel(signal**2) * RBF(scale), alpha=noise**2, optimizer=None).fit(
            one.known.cycles[:, None], (one.known.values - mean) / sd
        )
        predicted, latent = model.predict(one.hidden.cycles[:, None], return_std=True)
        residual = (one.hidden.values - mean) / sd - predicted
        expected.append(np.sqrt(np.mean(residual**2)))
        inside.extend(np.abs(residual) <= 1.959963984540054 * np.sqrt(latent**2 + noise**2))
    found = scores.score(SPEC, THETA, new)
    assert found.rmse == pytest.approx(expected, rel=1e-9)
    assert found.coverage_95 == np.mean(inside)
    assert found.mean == pytest.approx(sum(expected) / 2)


def test_far_from_what_is_known_the_error_is_the_distance_from_the_mean() -> None:
    # Known values 1 and 3: mean 2, sd 1. With a length-scale of 1 cycle nothing reaches cycle 90, where 5 is 3 sd off
    # and 2.5 is half an sd off; the band there is 1.96 sqrt(1 + 0.25), 2.19 sd to each side.
    far = Engine("engine-001", np.array([80.0, 90.0]), np.array([5.0, 2.5]))
    known = Engine("engine-001", np.array([0.0, 40.0]), np.array([1.0, 3.0]))
    found = scores.score(SPEC, np.log([1.0, 0.5, 1.0]), [NewEngine(known, far)])
    assert found.rmse == pytest.approx([np.sqrt((3.0**2 + 0.5**2) / 2)])
    assert found.coverage_95 == 0.5


def test_a_score_tells_mean_and_spread() -> None:
    found = Score((0.3, 0.5), 0.9)
    assert (found.mean, found.sd) == (pytest.approx(0.4), pytest.approx(0.1))


def loss_of_scikit_learn(clients: list[Engine], theta: Array) -> float:
    signal, noise, scale = np.exp(theta)
    kernel = ConstantKernel(signal**2) * RBF(scale) + WhiteKernel(noise**2)
    total = 0.0
    for one in clients:
        values = (one.values - one.values.mean()) / one.values.std()
        model = GaussianProcessRegressor(kernel, optimizer=None).fit(one.cycles[:, None], values)
        total -= model.log_marginal_likelihood_value_
    return total / sum(one.cycles.size for one in clients)


def test_nothing_near_the_optimum_is_better() -> None:
    clients = [engine("engine-001", 3, 40), engine("engine-002", 4, 30)]
    best = scores.optimum(SPEC, Fleet("s4", tuple(clients), (), 100.0))
    least = loss_of_scikit_learn(clients, best)
    assert least < loss_of_scikit_learn(clients, SPEC.initial_theta) - 1e-3
    for step in (-0.05, 0.05):
        for moved in best + step * np.eye(3):
            assert least <= loss_of_scikit_learn(clients, moved)

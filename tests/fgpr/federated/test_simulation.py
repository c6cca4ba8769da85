from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from fgpr.errors import DataError
from fgpr.federated.fedavg import Contribution, uniform_average, weighted_average
from fgpr.federated.participation import proportional_sample
from fgpr.federated.pooled import optimise, pooled_loss
from fgpr.federated.simulation import LocalData, simulate
from fgpr.gp.arrays import Array
from fgpr.gp.hyperparameters import Bounds, theta_names
from fgpr.gp.hyperprior import LogNormal, LogPrior
from fgpr.gp.kernels.kernel import kernel_named
from fgpr.gp.likelihood import Likelihood, Workspace
from fgpr.gp.local_training import train
from fgpr.gp.model import Feature, ModelSpec, Target
from fgpr.gp.posterior import condition
from fgpr.gp.scaling import TargetScaling
from fgpr.gp.training_settings import TrainingSettings

BOUNDS = Bounds.from_natural(theta_names(1), [0.01, 0.01, 0.01], [100.0, 10.0, 100.0])
RBF = kernel_named("rbf")
START = np.log([1.0, 0.5, 2.0])
SETTINGS = TrainingSettings("adam", 0.1, 0.0, 5, None)


def clients() -> list[LocalData]:
    rng = np.random.default_rng(5)
    data = []
    for name, rows in (("a", 20), ("b", 35), ("c", 11)):
        x = np.sort(rng.uniform(0, 10, rows))
        y = np.sin(x + rng.uniform(0, 6)) + 0.2 * rng.normal(size=rows)
        data.append(LocalData(name, x[:, None], y))
    return data


def rng() -> np.random.Generator:
    return np.random.default_rng(2)


def test_one_round_is_the_weighted_average_of_local_trainings() -> None:
    data = clients()
    (only,) = simulate(RBF, data, START, SETTINGS, BOUNDS, 1, rng())
    thetas = [train(RBF, client.X, client.y, START, SETTINGS, BOUNDS, rng()).theta for client in data]
    np.testing.assert_allclose(only.theta, np.average(thetas, axis=0, weights=[20, 35, 11]), rtol=1e-12)
    assert only.clients == ("a", "b", "c")
    likelihoods = [Likelihood(RBF, client.X, client.y) for client in data]
    assert only.loss == pytest.approx(pooled_loss(likelihoods, START), rel=1e-12)


def test_rounds_approach_the_pooled_optimum() -> None:
    data = clients()
    likelihoods = [Likelihood(RBF, client.X, client.y) for client in data]
    best = optimise(likelihoods, BOUNDS, [START])
    history = simulate(RBF, data, START, SETTINGS, BOUNDS, 20, rng())
    assert len(history) == 20
    assert pooled_loss(likelihoods, history[-1].theta) == pytest.approx(best.loss, abs=0.02)
    assert history[-1].loss < history[0].loss - 0.1


def test_a_prior_counts_once_whatever_the_number_of_clients() -> None:
    """One step of plain descent with all rows: the average moves by the gradient of (sum_k L_k - log p) / N."""
    data = clients()
    priors = [LogNormal("length-scale of 1", 0.2, 0.05)]
    settings = TrainingSettings("sgd", 0.01, 0.0, 1, None)
    (only,) = simulate(RBF, data, START, settings, BOUNDS, 1, rng(), priors=priors)
    gradient = -LogPrior(priors, BOUNDS.names).gradient(START)
    for client in data:
        gradient += Likelihood(RBF, client.X, client.y).value_and_gradient(START).gradient
    np.testing.assert_allclose(only.theta, START - 0.01 * gradient / 66, rtol=1e-12)


def test_clients_that_see_nothing_of_a_hyper_parameter_do_not_move_it() -> None:
    """One client of three varies the second input; the others stay still there, and say so."""
    rng_ = np.random.default_rng(6)
    bounds = Bounds.from_natural(theta_names(2), [0.01] * 4, [100.0, 10.0, 100.0, 100.0])
    start = np.r_[START, 1.0]
    still = [
        LocalData(client.client, np.column_stack([client.X, np.full(client.y.size, 3.0)]), client.y)
        for client in clients()
    ]
    moving = LocalData("d", rng_.uniform(0, 10, (30, 2)), rng_.normal(size=30))
    (without,) = simulate(RBF, still, start, SETTINGS, bounds, 1, rng())
    assert without.theta[3] == pytest.approx(1.0, rel=1e-15)
    assert without.uninformed == ("length-scale of 2",)
    (whole,) = simulate(RBF, [*still, moving], start, SETTINGS, bounds, 1, rng())
    alone = train(RBF, moving.X, moving.y, start, SETTINGS, bounds, rng())
    assert whole.uninformed == ()
    assert whole.theta[3] == pytest.approx((66 * 1.0 + 30 * alone.theta[3]) / 96, rel=1e-12)


def test_a_sum_of_kernels_is_learned_together() -> None:
    """Clients that share a period, each with a phase and level of its own."""
    rng_ = np.random.default_rng(9)
    feature = Feature("x", "s", 0.0, 10.0)
    spec = ModelSpec.with_default_bounds([feature], Target("y", "1", "none"), "periodic(period=2.4) + constant")
    data = []
    for name in "abcdef":
        x = rng_.uniform(0, 10, 40)
        y = np.sin(2 * np.pi * x / 2.5 + rng_.uniform(0, 6)) + 3 * rng_.normal() + 0.1 * rng_.normal(size=40)
        data.append(LocalData(name, x[:, None], y))
    settings = TrainingSettings("l-bfgs", steps=10)
    history = simulate(spec.correlation, data, spec.initial_theta, settings, spec.bounds, 4, rng())
    learned = dict(zip(spec.theta_names, np.exp(history[-1].theta).tolist(), strict=True))
    assert learned["period of x in periodic"] == pytest.approx(2.5, abs=0.02)
    assert learned["noise sd"] == pytest.approx(0.1, abs=0.03)
    assert learned["signal sd of constant"] > 1.0


def test_the_averaging_step_is_an_argument() -> None:
    seen: list[Sequence[Contribution]] = []

    def aggregate(contributions: Sequence[Contribution]) -> Array:
        seen.append(contributions)
        return uniform_average(contributions)

    history = simulate(RBF, clients(), START, SETTINGS, BOUNDS, 2, rng(), aggregate=aggregate)
    assert [[(part.client, part.weight) for part in parts] for parts in seen] == [[("a", 20), ("b", 35), ("c", 11)]] * 2
    np.testing.assert_allclose(
        history[0].theta, np.mean([np.asarray(part.theta) for part in seen[0]], axis=0), rtol=1e-12
    )


def test_sampled_clients_are_averaged_uniformly() -> None:
    weights: list[int] = []

    def aggregate(contributions: Sequence[Contribution]) -> Array:
        weights.extend(part.weight for part in contributions)
        return weighted_average(contributions)

    scheme = proportional_sample(2, replacement=False)
    history = simulate(RBF, clients(), START, SETTINGS, BOUNDS, 4, rng(), scheme, aggregate)
    assert all(len(entry.clients) == 2 for entry in history)
    assert weights == [1] * 8


def test_a_decaying_rate_runs_on_over_the_rounds() -> None:
    data = clients()[:1]
    settings = TrainingSettings("sgd", 0.1, 0.5, 3, None)
    two = simulate(RBF, data, START, settings, BOUNDS, 2, rng())
    (six,) = simulate(RBF, data, START, TrainingSettings("sgd", 0.1, 0.5, 6, None), BOUNDS, 1, rng())
    np.testing.assert_allclose(two[-1].theta, six.theta, rtol=1e-12)


def test_the_same_seed_gives_the_same_run() -> None:
    settings = TrainingSettings("sgd", 0.1, 0.0, 3, 8)
    first, again = (simulate(RBF, clients(), START, settings, BOUNDS, 3, rng())[-1].theta for _ in range(2))
    assert first.tolist() == again.tolist()


def test_clipping_is_reported_in_the_order_of_theta() -> None:
    tight = Bounds.from_natural(theta_names(1), [0.99, 0.45, 0.01], [1.01, 10.0, 100.0])
    (only,) = simulate(RBF, clients(), START, SETTINGS, tight, 1, rng())
    assert only.clipped == ("signal sd", "noise sd")


def test_bad_clients_are_named() -> None:
    data = clients()
    with pytest.raises(DataError, match="3 clients with 2 names"):
        simulate(RBF, [*data[:2], data[0]], START, SETTINGS, BOUNDS, 1, rng())
    with pytest.raises(DataError, match="0 clients"):
        simulate(RBF, [], START, SETTINGS, BOUNDS, 1, rng())
    flat = LocalData("d", np.arange(5.0)[:, None], np.full(5, 3.0))
    with pytest.raises(DataError, match="client d: constant target"):
        simulate(RBF, [*data, flat], START, SETTINGS, BOUNDS, 1, rng())
    with pytest.raises(DataError, match="2 targets for 3 rows"):
        LocalData("e", np.zeros((3, 1)), np.zeros(2))


@pytest.mark.data
def test_new_engines_of_fd001_are_predicted_as_well_as_at_the_optimum(real_data: Path) -> None:
    path = real_data / "cmapss" / "train_FD001.txt"
    if not path.is_file():
        pytest.skip(f"no {path}")
    table = np.loadtxt(path)
    draw = np.random.default_rng(0)
    engines = draw.permutation(np.unique(table[:, 0]))
    spec = ModelSpec.with_default_bounds(
        [Feature("cycle", "1", 0.0, 400.0)], Target("s4", "degR", "standardise"), "rbf"
    )
    sensor = 4

    def series(engine: float) -> tuple[Array, Array]:
        rows = table[table[:, 0] == engine]
        return spec.arrange({"cycle": rows[:, 1]}), rows[:, 4 + sensor]

    data = []
    for engine in engines[:60]:
        X, y = series(engine)
        data.append(LocalData(f"engine {engine:.0f}", X, TargetScaling.fit(y, "standardise").to_scaled(y)))
    history = simulate(spec.correlation, data, spec.initial_theta, SETTINGS, spec.bounds, 12, rng())
    workspace = Workspace()
    likelihoods = [Likelihood(spec.correlation, client.X, client.y, workspace) for client in data]
    best = optimise(likelihoods, spec.bounds, [spec.initial_theta])

    federated: list[float] = []
    pooled: list[float] = []
    inside: list[float] = []
    for engine in engines[60:]:
        X, y = series(engine)
        order = draw.permutation(y.size)
        known, new = order[: y.size // 2], order[y.size // 2 :]
        scaled = TargetScaling.fit(y[known], "standardise").to_scaled(y)
        for theta, errors in ((history[-1].theta, federated), (best.theta, pooled)):
            ours = condition(spec.correlation, theta, X[known], scaled[known]).predict(X[new])
            errors.append(float(np.sqrt(np.mean((scaled[new] - ours.mean) ** 2))))
            if errors is federated:
                inside.append(float(np.mean(np.abs(scaled[new] - ours.mean) <= 1.96 * ours.observation_sd)))
    # An independent prototype measured 0.520 on other splits; the sd over engines is 0.09, so its error is 0.014.
    assert np.mean(pooled) == pytest.approx(0.520, abs=0.04)
    assert np.mean(federated) <= 1.04 * np.mean(pooled)
    assert np.mean(inside) == pytest.approx(0.95, abs=0.03)

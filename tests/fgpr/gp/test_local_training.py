from pathlib import Path
from typing import Final, Literal

import numpy as np
import pytest
from scipy.stats import norm

from fgpr.errors import DataError, EncodingError
from fgpr.federated.pooled import optimise
from fgpr.gp.arrays import Array
from fgpr.gp.hyperparameters import Bounds, theta_names
from fgpr.gp.hyperprior import LogNormal
from fgpr.gp.kernels.kernel import kernel_named
from fgpr.gp.likelihood import Likelihood
from fgpr.gp.local_training import train
from fgpr.gp.scaling import TargetScaling
from fgpr.gp.training_settings import TrainingSettings
from support.kernels import EVERY, FASTEST, problem

BOUNDS = Bounds.from_natural(theta_names(1), [0.01, 0.01, 0.01], [100.0, 10.0, 100.0])
START = np.log([1.0, 0.5, 2.0])
RBF = kernel_named("rbf")
OPTIMISERS: Final[tuple[Literal["sgd", "adam", "l-bfgs"], ...]] = ("sgd", "adam", "l-bfgs")


def data(rows: int = 30) -> tuple[Array, Array]:
    rng = np.random.default_rng(4)
    x = np.linspace(0, 10, rows)[:, None]
    return x, np.sin(x[:, 0]) + 0.1 * rng.normal(size=rows)


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.mark.parametrize("name", FASTEST)
def test_one_full_step_of_sgd_is_the_gradient_a_point(name: str) -> None:
    X, y = data()
    kernel = kernel_named(name)
    loss = Likelihood(kernel, X, y).value_and_gradient(START)
    update = train(kernel, X, y, START, TrainingSettings("sgd", 0.2, 0.0, 1, None), BOUNDS, rng())
    np.testing.assert_allclose(update.theta, START - 0.2 * loss.gradient / 30, rtol=1e-13)
    assert update.losses == pytest.approx([loss.nats / 30])
    assert (update.observations, update.jitter, update.clipped) == (30, 0.0, ())


def test_the_rate_decays_from_the_first_step_given() -> None:
    X, y = data()
    settings = TrainingSettings("sgd", 0.2, 1.0, 1, None)
    near = train(RBF, X, y, START, settings, BOUNDS, rng()).theta - START
    later = train(RBF, X, y, START, settings, BOUNDS, rng(), first_step=4).theta - START
    np.testing.assert_allclose(later, near / 5, rtol=1e-12)


@pytest.mark.parametrize("batch_size", [None, 12])
def test_adam_lowers_the_loss(batch_size: int | None) -> None:
    X, y = data()
    likelihood = Likelihood(RBF, X, y)
    update = train(RBF, X, y, START, TrainingSettings("adam", 0.1, 0.0, 30, batch_size), BOUNDS, rng())
    assert likelihood.value(update.theta).nats < likelihood.value(START).nats - 5
    assert len(update.losses) == 30
    assert update.observations == 30


def test_batches_come_from_the_generator_alone() -> None:
    X, y = data()
    settings = TrainingSettings("sgd", 0.1, 0.0, 3, 8)
    first, again = (train(RBF, X, y, START, settings, BOUNDS, rng()) for _ in range(2))
    other = train(RBF, X, y, START, settings, BOUNDS, np.random.default_rng(8))
    assert first.theta.tolist() == again.theta.tolist()
    assert first.theta.tolist() != other.theta.tolist()


def test_a_batch_size_above_the_rows_is_the_full_batch() -> None:
    X, y = data()
    full = train(RBF, X, y, START, TrainingSettings("sgd", 0.1, 0.0, 3, None), BOUNDS, rng())
    large = train(RBF, X, y, START, TrainingSettings("sgd", 0.1, 0.0, 3, 31), BOUNDS, rng())
    assert full.theta.tolist() == large.theta.tolist()
    assert full.losses == large.losses


def test_theta_stays_inside_the_bounds_and_says_what_was_moved() -> None:
    X, y = data()
    tight = Bounds.from_natural(theta_names(1), [0.99, 0.45, 0.01], [1.01, 10.0, 100.0])
    update = train(RBF, X, y, START, TrainingSettings("adam", 0.1, 0.0, 5, None), tight, rng())
    assert update.clipped == ("signal sd", "noise sd")
    assert update.theta[1] == tight.lower[1]
    tight.check(update.theta)


def test_a_step_far_too_long_ends_on_the_bounds_or_where_it_came_from() -> None:
    X, y = data()
    update = train(RBF, X, y, START, TrainingSettings("sgd", 1e9, 0.0, 1, None), BOUNDS, rng())
    assert set(update.theta) <= {*BOUNDS.lower, *BOUNDS.upper, *START}
    assert update.clipped == BOUNDS.names
    for name, value, before in zip(BOUNDS.names, update.theta, START, strict=True):
        assert (name in update.uninformed) == (value == before)


def test_the_broadcast_theta_is_left_as_it_was() -> None:
    X, y = data()
    theta = START.copy()
    train(RBF, X, y, theta, TrainingSettings(), BOUNDS, rng())
    assert theta.tolist() == START.tolist()


def test_case_a2_a_constant_target_does_not_contribute() -> None:
    scaled = TargetScaling.fit(np.full(30, 0.1), "standardise").to_scaled(np.full(30, 0.1))
    for y in (np.full(30, 518.67), scaled):
        with pytest.raises(DataError, match="constant target: all 30 rows"):
            train(RBF, np.arange(30.0), y, START, TrainingSettings(), BOUNDS, rng())


@pytest.mark.data
@pytest.mark.parametrize("sensor", [1, 18, 19])
def test_case_a2_constant_sensors_of_every_engine(real_data: Path, sensor: int) -> None:
    path = real_data / "cmapss" / "train_FD001.txt"
    if not path.is_file():
        pytest.skip(f"no {path}")
    table = np.loadtxt(path)
    for engine in np.unique(table[:, 0]):
        rows = table[table[:, 0] == engine]
        scaled = TargetScaling.fit(rows[:, 4 + sensor], "standardise").to_scaled(rows[:, 4 + sensor])
        with pytest.raises(DataError, match="constant target"):
            train(RBF, rows[:, 1], scaled, START, TrainingSettings(), BOUNDS, rng())


@pytest.mark.parametrize("rows", [0, 1, 2, 3])
def test_fewer_than_four_rows_do_not_contribute(rows: int) -> None:
    with pytest.raises(DataError, match=f"too few rows: {rows}, at least 4"):
        train(RBF, np.arange(rows)[:, None], np.arange(float(rows)), START, TrainingSettings(), BOUNDS, rng())
    train(RBF, np.arange(4.0), np.array([1.0, 2.0, 0.0, 1.0]), START, TrainingSettings(), BOUNDS, rng())


def test_bad_data_and_a_theta_outside_are_refused() -> None:
    X, y = data()
    y[3] = np.nan
    with pytest.raises(DataError, match="row 4"):
        train(RBF, X, y, START, TrainingSettings(), BOUNDS, rng())
    with pytest.raises(EncodingError, match="signal sd"):
        train(RBF, *data(), np.log([1e3, 0.5, 2.0]), TrainingSettings(), BOUNDS, rng())


@pytest.mark.parametrize("optimiser", ["sgd", "adam", "l-bfgs"])
@pytest.mark.parametrize("batches", ["uniform", "nearest"])
@pytest.mark.parametrize("epochs", [None, 2])
def test_the_same_generator_gives_the_same_bits(
    optimiser: Literal["sgd", "adam", "l-bfgs"], batches: Literal["uniform", "nearest"], epochs: int | None
) -> None:
    X, y = data()
    settings = TrainingSettings(optimiser, 0.1, 0.0, 3, 8, epochs, batches)
    first, again = (train(RBF, X, y, START, settings, BOUNDS, rng()) for _ in range(2))
    other = train(RBF, X, y, START, settings, BOUNDS, np.random.default_rng(8))
    assert first.theta.tolist() == again.theta.tolist()
    assert first.losses == again.losses
    assert first.theta.tolist() != other.theta.tolist()


def test_the_papers_scaling_divides_the_noise_by_m_and_the_rest_by_tau_log_m() -> None:
    X, y = data()
    gradient = Likelihood(RBF, X, y).value_and_gradient(START).gradient
    settings = TrainingSettings("sgd", 0.01, 0.0, 1, None, tau=3.0)
    update = train(RBF, X, y, START, settings, BOUNDS, rng())
    scales = np.array([3.0 * np.log(30), 30.0, 3.0 * np.log(30)])
    np.testing.assert_allclose(update.theta, START - 0.01 * gradient / scales, rtol=1e-12)


def test_a_long_gradient_is_shortened() -> None:
    X, y = data()
    gradient = Likelihood(RBF, X, y).value_and_gradient(START).gradient / 30
    length = np.linalg.norm(gradient)
    for limit, expected in ((length / 10, gradient / 10), (2 * length, gradient)):
        settings = TrainingSettings("sgd", 0.1, 0.0, 1, None, max_gradient=float(limit))
        update = train(RBF, X, y, START, settings, BOUNDS, rng())
        np.testing.assert_allclose(update.theta, START - 0.1 * expected, rtol=1e-12)


def test_epochs_count_passes() -> None:
    X, y = data()
    update = train(RBF, X, y, START, TrainingSettings("adam", 0.1, 0.0, 5, 8, epochs=2), BOUNDS, rng())
    assert len(update.losses) == 6, "30 rows in 3 batches of 10, twice"
    assert TrainingSettings(batch_size=8, epochs=2).local_steps(30) == 6
    assert TrainingSettings(batch_size=31, epochs=2).local_steps(30) == 2
    with pytest.raises(DataError, match="10005 steps, at most 10000"):
        train(RBF, X, y, START, TrainingSettings(batch_size=2, epochs=667), BOUNDS, rng())


def test_l_bfgs_reaches_the_optimum_of_the_full_batch() -> None:
    X, y = data()
    update = train(RBF, X, y, START, TrainingSettings("l-bfgs", steps=100), BOUNDS, rng())
    best = optimise([Likelihood(RBF, X, y)], BOUNDS, [START])
    np.testing.assert_allclose(update.theta, best.theta, rtol=0, atol=1e-4)
    assert np.abs(Likelihood(RBF, X, y).value_and_gradient(update.theta).gradient).max() < 1e-3
    assert (np.diff(update.losses) < 0).all()


def test_l_bfgs_makes_no_more_iterations_than_steps() -> None:
    X, y = data()
    update = train(RBF, X, y, START, TrainingSettings("l-bfgs", steps=2), BOUNDS, rng())
    assert len(update.losses) == 2
    assert Likelihood(RBF, X, y).value(update.theta).nats / 30 < update.losses[1]


def test_case_f2_a_warm_start_is_never_worse_and_says_what_changed() -> None:
    x = np.linspace(0, 10, 30)
    served = np.log([1.0, 0.1, 1.0])
    update = train(RBF, x, np.sin(x), served, TrainingSettings("l-bfgs", steps=50), BOUNDS, rng())
    assert -30 * update.losses[0] == pytest.approx(10.5357843, abs=5e-8)
    assert -Likelihood(RBF, x, np.sin(x)).value(update.theta).nats > 18.1283800
    assert update.changed
    again = train(RBF, x, np.sin(x), update.theta, TrainingSettings("l-bfgs", steps=50), BOUNDS, rng())
    np.testing.assert_allclose(again.theta, update.theta, rtol=0, atol=1e-4)


def test_case_f2_a_fit_that_changes_nothing_says_so() -> None:
    x = np.linspace(0, 10, 30)
    served = np.log([2.0, 0.1, 1.5])
    still = train(RBF, x, np.sin(x), served, TrainingSettings("sgd", 1e-300, steps=1), BOUNDS, rng())
    assert not still.changed
    assert still.theta.tolist() == served.tolist()


def test_an_input_that_never_changes_keeps_its_length_scale() -> None:
    """Its likelihood is flat in that coordinate, and the average has to see no change there."""
    X, y = data()
    X = np.column_stack([X, np.full(30, 4.0)])
    bounds = Bounds.from_natural(theta_names(2), [0.01] * 4, [100.0, 10.0, 100.0, 100.0])
    theta = np.r_[START, 0.3]
    for optimiser in OPTIMISERS:
        update = train(RBF, X, y, theta, TrainingSettings(optimiser, steps=40), bounds, rng())
        assert update.uninformed == ("length-scale of 2",)
        assert update.theta[3] == 0.3
        assert update.changed
        assert update.theta[2] != theta[2]


def test_a_likelihood_that_is_flat_everywhere_returns_the_broadcast_theta() -> None:
    """A signal far below the noise and a noise that the prior nails: the length-scale is not seen."""
    X, _ = data()
    y = np.random.default_rng(2).normal(size=30)
    bounds = Bounds.from_natural(theta_names(1), [1e-3, 0.01, 0.01], [100.0, 10.0, 100.0])
    theta = np.log([2e-3, 1.0, 2.0])
    update = train(RBF, X, y, theta, TrainingSettings("adam", 0.1, steps=40), bounds, rng())
    assert update.uninformed == ("signal sd", "length-scale of 1")
    assert update.theta[[0, 2]].tolist() == theta[[0, 2]].tolist()


def test_what_drifts_to_a_bound_uninformed_goes_back() -> None:
    """White noise: the signal vanishes on the way, and with it all that is known of the length-scale."""
    X, _ = data()
    y = np.random.default_rng(3).normal(size=30)
    bounds = Bounds.from_natural(theta_names(1), [0.03, 0.01, 0.01], [100.0, 10.0, 100.0])
    update = train(RBF, X, y, np.log([0.5, 0.5, 2.0]), TrainingSettings("adam", 0.5, steps=60), bounds, rng())
    assert "signal sd" in update.clipped
    assert "signal sd" in update.uninformed
    assert update.theta[0] == np.log(0.5)


def test_a_prior_informs_what_the_data_do_not() -> None:
    X, y = data()
    X = np.column_stack([X, np.full(30, 4.0)])
    bounds = Bounds.from_natural(theta_names(2), [0.01] * 4, [100.0, 10.0, 100.0, 100.0])
    priors = [LogNormal("length-scale of 2", 5.0, 0.5)]
    settings = TrainingSettings("l-bfgs", steps=100)
    update = train(RBF, X, y, np.r_[START, 0.3], settings, bounds, rng(), priors=priors)
    assert update.uninformed == ()
    assert np.exp(update.theta[3]) == pytest.approx(5.0, rel=1e-3)
    assert update.log_priors[0] == pytest.approx(norm(np.log(5.0), 0.5).logpdf(0.3))


def test_a_step_counts_the_clients_share_of_the_prior() -> None:
    X, y = data()
    priors = [LogNormal("length-scale of 1", 4.0, 0.5)]
    gradient = Likelihood(RBF, X, y).value_and_gradient(START).gradient
    gradient[2] -= (np.log(4.0) - START[2]) / 0.25 / 8
    for batch in (None, 30):
        settings = TrainingSettings("sgd", 0.1, 0.0, 1, batch)
        update = train(RBF, X, y, START, settings, BOUNDS, rng(), priors=priors, clients=8)
        np.testing.assert_allclose(update.theta, START - 0.1 * gradient / 30, rtol=1e-12)
        assert update.losses == pytest.approx([Likelihood(RBF, X, y).value(START).nats / 30])


@pytest.mark.parametrize("text", EVERY)
def test_every_kernel_trains(text: str) -> None:
    kernel, X, y, theta = problem(text, 2)
    bounds = Bounds(kernel.names(2), tuple(theta - 3.0), tuple(theta + 3.0))
    update = train(kernel, X, y, theta, TrainingSettings("l-bfgs", steps=15), bounds, rng())
    bounds.check(update.theta)
    assert Likelihood(kernel, X, y).value(update.theta).nats < Likelihood(kernel, X, y).value(theta).nats

from pathlib import Path

import numpy as np
import pytest

from fgpr.errors import DataError, EncodingError
from fgpr.gp.arrays import Array
from fgpr.gp.hyperparameters import Bounds, theta_names
from fgpr.gp.kernels.kernel import KERNEL_NAMES, kernel_named
from fgpr.gp.likelihood import Likelihood
from fgpr.gp.local_training import TrainingSettings, train
from fgpr.gp.scaling import TargetScaling

BOUNDS = Bounds.from_natural(theta_names(1), [0.01, 0.01, 0.01], [100.0, 10.0, 100.0])
START = np.log([1.0, 0.5, 2.0])
RBF = kernel_named("rbf")


def data(rows: int = 30) -> tuple[Array, Array]:
    rng = np.random.default_rng(4)
    x = np.linspace(0, 10, rows)[:, None]
    return x, np.sin(x[:, 0]) + 0.1 * rng.normal(size=rows)


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.mark.parametrize("name", KERNEL_NAMES)
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


def test_a_step_far_too_long_ends_on_the_bounds() -> None:
    X, y = data()
    update = train(RBF, X, y, START, TrainingSettings("sgd", 1e9, 0.0, 1, None), BOUNDS, rng())
    assert set(update.theta) <= {*BOUNDS.lower, *BOUNDS.upper}
    assert update.clipped == BOUNDS.names


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


@pytest.mark.parametrize("rows", [0, 1])
def test_fewer_than_two_rows_do_not_contribute(rows: int) -> None:
    with pytest.raises(DataError, match=f"too few rows: {rows}"):
        train(RBF, np.zeros((rows, 1)), np.zeros(rows), START, TrainingSettings(), BOUNDS, rng())


def test_bad_data_and_a_theta_outside_are_refused() -> None:
    X, y = data()
    y[3] = np.nan
    with pytest.raises(DataError, match="row 4"):
        train(RBF, X, y, START, TrainingSettings(), BOUNDS, rng())
    with pytest.raises(EncodingError, match="signal sd"):
        train(RBF, *data(), np.log([1e3, 0.5, 2.0]), TrainingSettings(), BOUNDS, rng())


def test_settings_travel_as_canonical_json() -> None:
    settings = TrainingSettings("sgd", 0.5, 0.25, 10, 32)
    raw = b'{"batch_size":32,"decay":0.25,"learning_rate":0.5,"optimiser":"sgd","steps":10}'
    assert settings.encode() == raw
    assert TrainingSettings.decode(raw) == settings
    assert TrainingSettings.from_json({}) == TrainingSettings("adam", 0.1, 0.0, 5, None)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("optimiser", "lbfgs"),
        ("learning_rate", 0),
        ("learning_rate", -0.1),
        ("learning_rate", "0.1"),
        ("decay", -1),
        ("steps", 0),
        ("steps", 10_001),
        ("steps", 1.5),
        ("batch_size", 1),
        ("batch_size", 2.5),
        ("momentum", 0.9),
    ],
)
def test_settings_that_make_no_training_are_refused(field: str, value: object) -> None:
    with pytest.raises(EncodingError, match=field.replace("_", ".")):
        TrainingSettings.from_json({field: value})


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_settings_are_finite(bad: float) -> None:
    with pytest.raises(EncodingError):
        TrainingSettings(learning_rate=bad)
    with pytest.raises(EncodingError):
        TrainingSettings(decay=bad)

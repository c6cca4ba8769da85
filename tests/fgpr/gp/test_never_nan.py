"""Whatever the data and theta: a finite result or a typed error, and variances from 0 to that of the signal."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fgpr.errors import DataError, FgprError, NumericalError
from fgpr.gp.arrays import Array
from fgpr.gp.conditioning import condition_by_neighbours
from fgpr.gp.hyperparameters import Bounds
from fgpr.gp.kernels import parameters
from fgpr.gp.kernels.kernel import Kernel, kernel_named
from fgpr.gp.likelihood import Likelihood
from fgpr.gp.local_training import train
from fgpr.gp.model import Feature
from fgpr.gp.posterior import condition
from fgpr.gp.prediction import Prediction
from fgpr.gp.residuals import leave_one_out
from fgpr.gp.scaling import TargetScaling
from fgpr.gp.stacked import StackedLikelihood
from fgpr.gp.training_settings import TrainingSettings
from support.kernels import EVERY

SIZES = st.one_of(st.integers(1, 8), st.integers(9, 300))
SCALES = st.floats(-8.0, 8.0).map(lambda exponent: 10.0**exponent)


class Case(NamedTuple):
    """A problem, its new inputs, and the noise that its rows are conditioned with."""

    kernel: Kernel
    bounds: Bounds
    theta: Array
    X: Array
    new: Array
    y: Array
    noise: float | Array | None


@st.composite
def problems(draw: st.DrawFn) -> Case:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, features = draw(SIZES), draw(st.integers(1, 4))
    scale, shift, target_scale = draw(SCALES), draw(st.sampled_from([0.0, 1.0, -30.0])), draw(SCALES)
    axes = tuple(Feature(f"x{n + 1}", "1", scale * shift, scale * (shift + 1.0)) for n in range(features))
    X = scale * (shift + rng.uniform(size=(rows, features)))
    copies = draw(st.integers(0, rows))
    X[rng.integers(rows, size=copies)] = X[rng.integers(rows)]
    y = target_scale * rng.choice([rng.normal(size=rows), np.sin(np.arange(rows)), np.ones(rows)])
    kernel = kernel_named(draw(st.sampled_from(EVERY)), axes)
    found = parameters.parameters(kernel.expression, axes)
    # The default bounds, and ones so wide that matrices become singular and inputs span too many length-scales.
    widening = draw(st.sampled_from([1.0, 1e6]))
    lowest, highest = [p.lower / widening for p in found], [p.upper * widening for p in found]
    bounds = Bounds.from_natural([p.name for p in found], lowest, highest)
    at = draw(st.sampled_from(["inside", "lower", "upper", "corner"]))
    share = {
        "inside": rng.uniform(size=len(found)),
        "lower": np.zeros(len(found)),
        "upper": np.ones(len(found)),
        "corner": rng.integers(0, 2, len(found)).astype(float),
    }[at]
    lower, upper = np.array(bounds.lower), np.array(bounds.upper)
    theta = bounds.clip(lower + share * (upper - lower)).theta
    new = np.vstack([X[: min(rows, 3)], scale * (shift + rng.uniform(-1.0, 2.0, size=(3, features)))])
    each = target_scale**2 * rng.uniform(size=rows) * rng.integers(0, 2, rows)
    noise = {"of theta": None, "none": 0.0, "a row": each}[draw(st.sampled_from(["of theta", "none", "a row"]))]
    return Case(kernel, bounds, theta, X, new, y, noise)


def check_prediction(case: Case, ours: Prediction) -> None:
    there = case.kernel.place(case.new)
    there.rescale(case.theta)
    assert np.isfinite(ours.mean).all()
    assert (ours.latent_variance >= 0.0).all()
    assert (ours.latent_variance <= there.signal_variance * there.diagonal * (1 + 1e-12)).all()
    if ours.noise_variance is not None:
        assert np.isfinite(ours.observation_sd).all()


@settings(max_examples=150, deadline=None, derandomize=True)
@given(problems())
def test_likelihoods_are_finite_or_a_typed_error(case: Case) -> None:
    """Up to 255 rows of a kernel of the distance go the packed way, above and for all others the general one."""
    likelihood = Likelihood(case.kernel, case.X, case.y)
    try:
        ours = likelihood.value_and_gradient(case.theta)
    except NumericalError:
        return
    assert math.isfinite(ours.nats)
    assert np.isfinite(ours.gradient).all()
    assert 0.0 <= ours.jitter <= 1e-6
    assert likelihood.value(case.theta).nats == pytest.approx(ours.nats, rel=1e-9)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(problems())
def test_the_information_is_finite_or_a_typed_error(case: Case) -> None:
    likelihood = Likelihood(case.kernel, case.X[:60], case.y[:60])
    try:
        ours = likelihood.curvature(case.theta)
    except NumericalError:
        return
    assert math.isfinite(ours.nats)
    assert np.isfinite(ours.gradient).all()
    assert np.isfinite(ours.information).all()
    assert (np.diagonal(ours.information) >= 0.0).all()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(problems(), st.integers(1, 20))
def test_stacked_problems_are_finite_or_a_typed_error(case: Case, rows: int) -> None:
    count = len(case.y) // rows
    if count == 0:
        return
    used = slice(0, count * rows)
    X, y = case.X[used].reshape(count, rows, -1), case.y[used].reshape(count, rows)
    try:
        ours = StackedLikelihood(case.kernel, X, y).value_and_gradient(case.theta)
    except NumericalError:
        return
    assert np.isfinite(ours.nats).all()
    assert np.isfinite(ours.gradient).all()
    assert 0.0 <= ours.jitter <= 1e-6


@settings(max_examples=150, deadline=None, derandomize=True)
@given(problems())
def test_predictions_are_finite_or_a_typed_error(case: Case) -> None:
    try:
        posterior = condition(case.kernel, case.theta, case.X, case.y, case.noise)
        ours = posterior.predict(case.new)
        residuals = leave_one_out(posterior)
    except NumericalError:
        return
    check_prediction(case, ours)
    assert np.isfinite(residuals.log_density).all()
    assert (residuals.observation_variance > 0.0).all()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(problems(), st.floats(0.0, 1.0))
def test_grown_posteriors_are_finite_or_a_typed_error(case: Case, share: float) -> None:
    first = round(share * len(case.y))
    noise, more = (
        (case.noise[:first], case.noise[first:]) if isinstance(case.noise, np.ndarray) else (case.noise, case.noise)
    )
    try:
        old = condition(case.kernel, case.theta, case.X[:first], case.y[:first], noise)
        ours = old.append(case.X[first:], case.y[first:], more).predict(case.new)
    except NumericalError:
        return
    check_prediction(case, ours)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(problems())
def test_joint_predictions_and_samples_are_finite_or_a_typed_error(case: Case) -> None:
    try:
        joint = condition(case.kernel, case.theta, case.X, case.y, case.noise).predict_jointly(case.new)
        drawn = joint.sample(3, np.random.default_rng(0))
    except NumericalError:
        return
    assert np.isfinite(joint.mean).all()
    assert np.isfinite(joint.latent_covariance).all()
    assert (joint.latent_covariance == joint.latent_covariance.T).all()
    assert (np.diagonal(joint.latent_covariance) >= 0.0).all()
    assert np.isfinite(drawn).all()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(problems(), st.integers(1, 40))
def test_predictions_by_neighbours_are_finite_or_a_typed_error(case: Case, neighbours: int) -> None:
    posterior = condition_by_neighbours(case.kernel, case.theta, case.X, case.y, case.noise, neighbours=neighbours)
    try:
        ours = posterior.predict(case.new)
    except NumericalError:
        return
    check_prediction(case, ours)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    problems(),
    st.sampled_from(
        [
            TrainingSettings("adam", steps=3, batch_size=16),
            TrainingSettings("sgd", 10.0, steps=3, batch_size=8, batches="nearest"),
            TrainingSettings("sgd", tau=0.1, steps=2, max_gradient=1.0, epochs=1, batch_size=64),
            TrainingSettings("l-bfgs", steps=5, batch_size=32),
        ]
    ),
)
def test_training_ends_inside_the_bounds_or_with_a_typed_error(case: Case, how: TrainingSettings) -> None:
    kernel, bounds, theta, X, _, y, _ = case
    try:
        scaled = TargetScaling.fit(y, "standardise").to_scaled(y)
        update = train(kernel, X, scaled, theta, how, bounds, np.random.default_rng(1))
    except (DataError, NumericalError):
        return
    bounds.check(update.theta)
    assert np.isfinite(update.losses).all()
    held = np.isin(bounds.names, update.uninformed)
    assert update.theta[held].tolist() == theta[held].tolist()


@pytest.mark.parametrize("text", EVERY)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_at_the_door(text: str, bad: float) -> None:
    axes = (Feature("x1", "1", 0.0, 1.0),)
    kernel = kernel_named(text, axes)
    theta = np.zeros(kernel.size(1))
    for X, y, at in (
        ([0.0, bad], [1.0, 2.0], theta),
        ([0.0, 1.0], [1.0, bad], theta),
        ([0.0, 1.0], [1.0, 2.0], theta + bad),
    ):
        with pytest.raises(FgprError):
            Likelihood(kernel, X, y).value_and_gradient(at)
        with pytest.raises(FgprError):
            condition(kernel, at, X, y)

"""Whatever the data and theta: a finite result or a typed error, and variances from 0 to that of the signal."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fgpr.errors import DataError, FgprError, NumericalError
from fgpr.gp.arrays import Array
from fgpr.gp.hyperparameters import Bounds
from fgpr.gp.kernels import parameters
from fgpr.gp.kernels.kernel import Kernel, kernel_named
from fgpr.gp.likelihood import Likelihood
from fgpr.gp.local_training import train
from fgpr.gp.model import Feature
from fgpr.gp.posterior import condition
from fgpr.gp.residuals import leave_one_out
from fgpr.gp.scaling import TargetScaling
from fgpr.gp.training_settings import TrainingSettings
from support.kernels import EVERY

SIZES = st.one_of(st.integers(1, 8), st.integers(9, 300))
SCALES = st.floats(-8.0, 8.0).map(lambda exponent: 10.0**exponent)


@st.composite
def problems(draw: st.DrawFn) -> tuple[Kernel, Bounds, Array, Array, Array, Array]:
    """(kernel, bounds, theta, X, new inputs, y)."""
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
    return kernel, bounds, theta, X, new, y


@settings(max_examples=150, deadline=None, derandomize=True)
@given(problems())
def test_likelihood_and_information_are_finite_or_a_typed_error(
    problem: tuple[Kernel, Bounds, Array, Array, Array, Array],
) -> None:
    kernel, _, theta, X, _, y = problem
    likelihood = Likelihood(kernel, X[:60], y[:60])
    try:
        ours = likelihood.curvature(theta)
    except NumericalError:
        return
    assert math.isfinite(ours.nats)
    assert np.isfinite(ours.gradient).all()
    assert np.isfinite(ours.information).all()
    assert (np.diagonal(ours.information) >= 0.0).all()
    assert 0.0 <= ours.jitter <= 1e-6


@settings(max_examples=150, deadline=None, derandomize=True)
@given(problems())
def test_predictions_are_finite_or_a_typed_error(problem: tuple[Kernel, Bounds, Array, Array, Array, Array]) -> None:
    kernel, _, theta, X, new, y = problem
    try:
        posterior = condition(kernel, theta, X, y)
        ours = posterior.predict(new)
        residuals = leave_one_out(posterior)
    except NumericalError:
        return
    there = kernel.place(new)
    there.rescale(theta)
    assert np.isfinite(ours.mean).all()
    assert np.isfinite(ours.observation_sd).all()
    assert (ours.latent_variance >= 0.0).all()
    assert (ours.latent_variance <= there.signal_variance * there.diagonal * (1 + 1e-12)).all()
    assert np.isfinite(residuals.log_density).all()
    assert (residuals.observation_variance > 0.0).all()


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
def test_training_ends_inside_the_bounds_or_with_a_typed_error(
    problem: tuple[Kernel, Bounds, Array, Array, Array, Array], how: TrainingSettings
) -> None:
    kernel, bounds, theta, X, _, y = problem
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

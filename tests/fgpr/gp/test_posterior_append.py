"""Rank updates: a posterior that grows agrees with one that is conditioned on everything at once."""

import numpy as np
import pytest

from fgpr.errors import DataError, NumericalError
from fgpr.gp.hyperparameters import Hyperparameters
from fgpr.gp.kernels.kernel import kernel_named
from fgpr.gp.posterior import condition
from support.kernels import FASTEST

RBF = kernel_named("rbf")
THETA = Hyperparameters(1.5, 0.2, (0.4, 0.7, 0.9)).theta


@pytest.mark.parametrize("sizes", [(60,), (1, 1, 1, 57), (30, 29), (0, 59), (59, 0, 1)])
@pytest.mark.parametrize("name", FASTEST)
def test_appending_is_conditioning_on_everything(name: str, sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    X, new = rng.uniform(size=(100, 3)), rng.uniform(size=(50, 3))
    y = np.cos(3 * X.sum(axis=1)) + 0.2 * rng.normal(size=100)
    rows = sum(sizes)
    whole = condition(kernel_named(name), THETA, X[: 40 + rows], y[: 40 + rows])
    grown = condition(kernel_named(name), THETA, X[:40], y[:40])
    start = 40
    for size in sizes:
        grown = grown.append(X[start : start + size], y[start : start + size])
        start += size
    assert grown.rows == whole.rows == sum(grown.blocks) == 40 + rows
    assert len(grown.blocks) == 1 + sum(size > 0 for size in sizes)
    np.testing.assert_allclose(np.tril(grown.factor), np.tril(whole.factor), rtol=0, atol=1e-12)
    ours, theirs = grown.predict(new), whole.predict(new)
    np.testing.assert_allclose(ours.mean, theirs.mean, rtol=0, atol=1e-11)
    np.testing.assert_allclose(ours.latent_variance, theirs.latent_variance, rtol=0, atol=1e-12)


def test_appending_leaves_the_old_posterior_as_it_was() -> None:
    before = condition(RBF, np.log([1.0, 0.1, 1.0]), [0.0, 2.0], [1.0, 4.0])
    mean = before.predict([0.5]).mean
    assert before.append([0.5], [7.0]).rows == 3
    assert (before.rows, before.predict([0.5]).mean.tolist()) == (2, mean.tolist())


def test_the_prior_can_be_appended_to() -> None:
    values = np.log([1.0, 0.1, 1.0])
    grown = condition(RBF, values, [], []).append([0.0, 2.0], [1.0, 4.0])
    whole = condition(RBF, values, [0.0, 2.0], [1.0, 4.0])
    assert np.array_equal(grown.predict([0.5]).mean, whole.predict([0.5]).mean)
    assert (grown.method, grown.blocks) == ("exact", (2,))


def test_case_f7_a_new_row_brings_its_own_noise() -> None:
    values = Hyperparameters(3.0, 0.1, (1.0,)).theta
    grown = condition(RBF, values, [0.0, 2.0], [1.0, 1.0]).append([1.0], [5.0], noise=4.0)
    ours = grown.predict([1.0])
    np.testing.assert_allclose(ours.mean, 2.8070729, rtol=0, atol=5.1e-8)
    np.testing.assert_allclose(ours.latent_variance, 1.7694796, rtol=0, atol=5.1e-8)
    assert grown.noise_variance is None, "rows of unequal noise say nothing about new ones"
    same = condition(RBF, values, [0.0, 2.0], [1.0, 1.0]).append([1.0], [5.0])
    np.testing.assert_allclose(same.predict([1.0]).mean, 4.9876459, rtol=0, atol=5.1e-8)
    assert same.noise_variance == pytest.approx(0.01)


def test_a_repeated_row_without_noise_is_named_or_its_jitter_reported() -> None:
    values = Hyperparameters(2.0, 0.5, (1.5,)).theta
    strict = condition(RBF, values, [1.0, 3.0], [11.0, 5.0], noise=0.0, jitter_limit=0.0)
    with pytest.raises(NumericalError, match="equal inputs in rows 1, 3"):
        strict.append([1.0], [11.0])
    lenient = condition(RBF, values, [1.0, 3.0], [11.0, 5.0], noise=0.0)
    grown = lenient.append([1.0], [11.0])
    assert (lenient.jitter, grown.jitter) == (0.0, 1e-12)
    assert grown.predict([1.0]).jitter == 1e-12
    assert grown.predict([1.0]).mean[0] == pytest.approx(11.0, abs=1e-6)


def test_rows_that_span_too_many_length_scales_are_refused_as_they_are_at_once() -> None:
    theta, X, y = np.log([1.0, 10.0, 1.0]), [0.0, 1.0], [1.0, 2.0]
    far = [1e8, 1e8 + 0.5]
    with pytest.raises(NumericalError, match="span too many length-scales"):
        condition(RBF, theta, X + far, [*y, 5.0, 5.0])
    with pytest.raises(NumericalError, match="span too many length-scales"):
        condition(RBF, theta, X, y).append(far, [5.0, 5.0])


def test_rows_far_from_the_old_ones_are_centred_with_them() -> None:
    """80,000 length-scales: too far from the centre of the old rows, not from that of all."""
    theta, X, y = np.log([1.0, 0.3, 1.0]), np.arange(4.0), np.array([1.0, 2.0, 0.0, 1.0])
    far, values = 8e4 + np.arange(4.0), np.array([3.0, 1.0, 2.0, 5.0])
    whole = condition(RBF, theta, np.r_[X, far], np.r_[y, values])
    grown = condition(RBF, theta, X, y).append(far, values)
    near = condition(RBF, theta, X, y).predict([1.5])
    apart = condition(RBF, theta, far, values).predict([8e4 + 1.5])
    for ours in (whole, grown):
        told = ours.predict([1.5, 8e4 + 1.5])
        np.testing.assert_allclose(told.mean, [near.mean[0], apart.mean[0]], rtol=0, atol=1e-5)
    assert grown.centre.tolist() == whole.centre.tolist()


def test_bad_rows_are_refused() -> None:
    posterior = condition(RBF, np.zeros(3), [0.0, 1.0], [1.0, 2.0], memory_limit=8 * 3 * 4)
    with pytest.raises(DataError, match="row 1, input 1 is nan"):
        posterior.append([np.nan], [1.0])
    with pytest.raises(DataError, match="1 targets for 2 rows"):
        posterior.append([3.0, 4.0], [1.0])
    with pytest.raises(DataError, match="2 columns, the model has 1 features"):
        posterior.append([[3.0, 4.0]], [1.0])
    with pytest.raises(DataError, match="4 rows need"):
        posterior.append([3.0, 4.0], [1.0, 2.0])
    assert posterior.append([3.0], [1.0]).rows == 3

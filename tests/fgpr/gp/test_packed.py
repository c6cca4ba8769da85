import numpy as np
import pytest

from fgpr.errors import NumericalError
from fgpr.gp.arrays import Array
from fgpr.gp.kernels.kernel import Kernel, kernel_named
from fgpr.gp.likelihood import Likelihood, Workspace
from fgpr.gp.packed import PackedLikelihood, worth_packing

RADIAL = ("rbf", "matern-1/2", "matern-3/2", "matern-5/2", "matern(nu=0.7)")


def packed(kernel: Kernel, X: Array, y: Array) -> PackedLikelihood:
    assert kernel.profile is not None
    return PackedLikelihood(kernel.profile, X, y)


@pytest.mark.parametrize("features", [1, 3])
@pytest.mark.parametrize("rows", [1, 2, 31, 32])
@pytest.mark.parametrize("text", RADIAL)
def test_it_is_the_general_likelihood(text: str, rows: int, features: int) -> None:
    """The general way is the one of `curvature`, which needs the whole factor."""
    rng = np.random.default_rng((rows, features))
    kernel, theta = kernel_named(text), np.log(np.r_[1.3, 0.4, rng.uniform(0.3, 2.0, size=features)])
    X, y = 50.0 + rng.uniform(size=(rows, features)), rng.normal(size=rows)
    general = Likelihood(kernel, X, y).curvature(theta)
    few = packed(kernel, X, y)
    found = few.value_and_gradient(theta)
    assert found is not None
    assert found[0] == few.value(theta) == pytest.approx(general.nats, rel=1e-12)
    np.testing.assert_allclose(found[1], general.gradient, rtol=1e-10, atol=1e-11)


def test_two_rows_by_hand() -> None:
    # K = [[v, c], [c, v]], v = 4 + 0.25, c = 4 exp(-1/2), and y = (1, -1) is an eigenvector of it, with v - c.
    found = packed(kernel_named("rbf"), np.array([[0.0], [1.0]]), np.array([1.0, -1.0])).value_and_gradient(
        np.log([2.0, 0.5, 1.0])
    )
    v, c = 4.25, 4 * np.exp(-0.5)
    assert found is not None
    value = 1 / (v - c) + 0.5 * np.log(v * v - c * c) + np.log(2 * np.pi)
    assert found[0] == pytest.approx(value, rel=1e-14)
    # By c, times dc / d log l = c.
    by_lengthscale = c * (1 / (v - c) ** 2 - c / (v * v - c * c))
    by_noise = 2 * 0.25 * (v / (v * v - c * c) - 1 / (v - c) ** 2)
    assert found[1][1:].tolist() == pytest.approx([by_noise, by_lengthscale], rel=1e-13)


@pytest.mark.parametrize("text", RADIAL)
@pytest.mark.parametrize(
    ("X", "y", "theta"),
    [
        pytest.param([0.0, 0.5, 1.0], [1.0, 2.0, 0.0], [0.0, -40.0, 0.0], id="hardly any noise"),
        pytest.param([0.0, 0.0, 1.0], [1.0, 2.0, 0.0], [100.0, -100.0, 0.0], id="equal rows without noise"),
        pytest.param([0.0, 1.0, 1e12], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0], id="too many length-scales"),
        pytest.param([0.0, 1.0, 1e200], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0], id="inputs that overflow"),
        pytest.param([-1e308, 1.0, 1e308], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0], id="a range that overflows"),
        pytest.param([0.0, 0.5, 1.0], [1e180, 2.0, 0.0], [0.0, 0.0, 0.0], id="targets that overflow"),
        pytest.param([0.0, 0.5, 1.0], [1e110, 2.0, 0.0], [0.0, 0.0, 0.0], id="a fit that nearly overflows"),
        pytest.param([0.0, 0.5, 1.0], [1.0, 2.0, 0.0], [-150.0, 150.0, -150.0], id="all at the limits of theta"),
    ],
)
def test_what_is_not_ordinary_is_left_to_the_general_way(
    text: str, X: list[float], y: list[float], theta: list[float]
) -> None:
    """Without a warning on the way."""
    few = packed(kernel_named(text), np.array(X)[:, np.newaxis], np.array(y))
    assert few.value_and_gradient(np.array(theta)) is None
    assert few.value(np.array(theta)) is None


@pytest.mark.parametrize("text", RADIAL)
def test_errors_are_those_of_the_general_way(text: str) -> None:
    kernel, y = kernel_named(text), np.array([1.0, 2.0, 0.0, 1.0])
    with pytest.raises(NumericalError, match="too many length-scales"):
        Likelihood(kernel, [0.0, 1.0, 2.0, 1e15], y).value_and_gradient(np.zeros(3))
    with pytest.raises(NumericalError, match="the targets are too large"):
        Likelihood(kernel, [0.0, 1.0, 2.0, 3.0], 1e180 * y).value_and_gradient(np.zeros(3))


def test_a_mini_batch_of_one_step_is_packed_up_to_half_the_size() -> None:
    assert worth_packing(255, 1, once=True)
    assert not worth_packing(256, 1, once=False)
    assert worth_packing(128, 8, once=False)
    assert not worth_packing(129, 8, once=False)
    assert worth_packing(128, 4, once=True)
    assert not worth_packing(129, 4, once=True)


@pytest.mark.parametrize("text", RADIAL)
def test_batches_drawn_for_one_step_give_the_same(text: str) -> None:
    rng = np.random.default_rng(6)
    X, y = rng.uniform(size=(130, 6)), rng.normal(size=130)
    theta, rows = np.log(np.r_[1.0, 0.3, np.full(6, 1.5)]), rng.permutation(130)[:120]
    likelihood = Likelihood(kernel_named(text), X, y, Workspace())
    likelihood.restrict(rows)
    kept = likelihood.value_and_gradient(theta)
    likelihood.restrict(rows, once=True)
    once = likelihood.value_and_gradient(theta)
    assert once.nats == pytest.approx(kept.nats, rel=1e-12)
    np.testing.assert_allclose(once.gradient, kept.gradient, rtol=1e-9, atol=1e-11)

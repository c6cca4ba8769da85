import numpy as np
import pytest

from fgpr.errors import DataError, NumericalError
from fgpr.gp.arrays import Array
from fgpr.gp.conditioning import condition_by_neighbours, condition_within_memory
from fgpr.gp.kernels.kernel import kernel_named
from fgpr.gp.posterior import condition
from support.kernels import FASTEST

THETA = np.log([1.5, 0.3, 0.4, 0.8])


def data(rows: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(8)
    X = rng.uniform(size=(rows, 2))
    return X, np.sin(6 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=rows), rng.uniform(-0.1, 1.1, size=(150, 2))


@pytest.mark.parametrize("noise", [None, 0.5, "a row"])
@pytest.mark.parametrize("name", FASTEST)
def test_with_all_rows_as_neighbours_it_is_the_exact_posterior(name: str, noise: float | str | None) -> None:
    X, y, new = data(80)
    given = np.linspace(0.01, 0.4, 80) if noise == "a row" else noise
    exact = condition(kernel_named(name), THETA, X, y, given).predict(new, noise=0.1)
    ours = condition_by_neighbours(kernel_named(name), THETA, X, y, given, neighbours=80).predict(new, noise=0.1)
    np.testing.assert_allclose(ours.mean, exact.mean, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.latent_variance, exact.latent_variance, rtol=0, atol=1e-12)
    assert (ours.method, exact.method) == ("nearest neighbours", "exact")
    assert (ours.noise_variance, ours.jitter) == (0.1, 0.0)


@pytest.mark.parametrize("name", FASTEST)
def test_it_is_the_exact_posterior_of_the_most_correlated_rows(name: str) -> None:
    X, y, new = data(200)
    kernel = kernel_named(name)
    ours = condition_by_neighbours(kernel, THETA, X, y, neighbours=17).predict(new)
    for place in (0, 73, 149):
        # Both kernels fall with the scaled distance.
        distance = (((X - new[place]) / [0.4, 0.8]) ** 2).sum(axis=1)
        nearest = np.argsort(distance)[:17]
        there = condition(kernel, THETA, X[nearest], y[nearest]).predict(new[place : place + 1])
        assert ours.mean[place] == pytest.approx(there.mean[0], abs=1e-12)
        assert ours.latent_variance[place] == pytest.approx(there.latent_variance[0], abs=1e-12)


def test_a_row_of_little_noise_is_preferred_to_a_nearer_one_of_much() -> None:
    X, y, noise = [0.9, 1.3], [5.0, 2.0], [25.0, 0.01]
    theta = np.log([1.0, 0.3, 1.0])
    ours = condition_by_neighbours(kernel_named("rbf"), theta, X, y, noise, neighbours=1).predict([1.0])
    # c^2 / (1 + q): 0.038 for the nearer row, 0.905 for the other.
    assert ours.mean[0] == pytest.approx(2.0 * np.exp(-0.045) / 1.01)
    assert ours.latent_variance[0] == pytest.approx(1.0 - np.exp(-0.09) / 1.01)


@pytest.mark.parametrize("name", FASTEST)
def test_bands_are_never_narrower_than_the_exact_ones_and_close_with_more_neighbours(name: str) -> None:
    X, y, new = data(600)
    exact = condition(kernel_named(name), THETA, X, y).predict(new)
    gaps = []
    for neighbours in (8, 64, 512):
        ours = condition_by_neighbours(kernel_named(name), THETA, X, y, neighbours=neighbours).predict(new)
        assert (ours.latent_variance >= exact.latent_variance - 1e-12).all()
        gaps.append(float(np.sqrt(np.mean((ours.mean - exact.mean) ** 2))))
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.1 * float(exact.latent_sd.mean())


def test_far_from_all_rows_it_is_the_prior() -> None:
    X, y, _ = data(50)
    ours = condition_by_neighbours(kernel_named("rbf"), THETA, X, y, neighbours=5).predict([[1e4, -1e4]])
    assert (ours.mean[0], ours.latent_variance[0]) == (0.0, pytest.approx(2.25))


def test_appended_rows_count() -> None:
    X, y, new = data(100)
    kernel = kernel_named("rbf")
    grown = condition_by_neighbours(kernel, THETA, X[:60], y[:60], neighbours=10).append(X[60:], y[60:])
    whole = condition_by_neighbours(kernel, THETA, X, y, neighbours=10)
    assert grown.rows == 100
    assert np.array_equal(grown.predict(new).mean, whole.predict(new).mean)
    alone = condition_by_neighbours(kernel, THETA, [], [])
    assert (alone.prior_only, alone.predict(new).method) == (True, "prior only")
    assert alone.append(X, y).predict(new).method == "nearest neighbours"


def test_equal_rows_without_noise_are_named_by_their_place_in_the_data() -> None:
    X = np.arange(40.0)
    X[31] = X[30]
    strict = condition_by_neighbours(
        kernel_named("matern-3/2"), np.zeros(3), X, np.sin(X), noise=0.0, jitter_limit=0.0, neighbours=6
    )
    assert np.isfinite(strict.predict([3.0]).mean).all(), "these neighbours are all different"
    with pytest.raises(NumericalError, match=r"new input 2: .* equal inputs in rows 31, 32"):
        strict.predict([3.0, 30.2])
    lenient = condition_by_neighbours(
        kernel_named("matern-3/2"), np.zeros(3), X, np.sin(X), noise=0.0, neighbours=6
    ).predict([3.0, 30.2])
    assert lenient.jitter == 1e-12


@pytest.mark.parametrize("noise", [None, 0.3, "a row", "none of some"])
def test_equal_inputs_count_as_one_row_exactly(noise: float | str | None) -> None:
    rng = np.random.default_rng(3)
    places = rng.uniform(size=(25, 2))
    X = places[rng.integers(25, size=150)]
    y = np.sin(6 * X[:, 0]) + 0.3 * rng.normal(size=150)
    given: float | Array | None = 0.3 if noise == 0.3 else None
    if isinstance(noise, str):
        given = 10.0 ** rng.uniform(-3, 3, 150)
    if noise == "none of some":
        X[7], y[7], given[7] = [5.0, 5.0], 1.0, 0.0  # type: ignore[index]  # an array here
    kernel, new = kernel_named("rbf"), rng.uniform(size=(30, 2))
    exact = condition(kernel, THETA, X, y, given).predict(new)
    ours = condition_by_neighbours(kernel, THETA, X, y, given, neighbours=26)
    assert ours.rows == 150
    np.testing.assert_allclose(ours.predict(new).mean, exact.mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(ours.predict(new).latent_variance, exact.latent_variance, rtol=0, atol=1e-10)


def test_copies_of_one_input_do_not_fill_the_neighbourhood() -> None:
    """300 rows at each of 20 inputs: 256 rows would all be copies of the nearest one."""
    rng = np.random.default_rng(0)
    X = np.repeat(np.linspace(0.0, 10.0, 20), 300)
    y = np.sin(X) + 0.3 * rng.normal(size=X.size)
    theta, new = np.log([1.0, 0.3, 1.0]), np.linspace(0.2, 9.8, 50)
    ours = condition_by_neighbours(kernel_named("rbf"), theta, X, y).predict(new)
    # The same posterior by the formula of means: 20 rows with a 300th of the noise.
    means = y.reshape(20, 300).mean(axis=1)
    exact = condition(kernel_named("rbf"), theta, X[::300], means, noise=0.09 / 300).predict(new)
    np.testing.assert_allclose(ours.latent_sd, exact.latent_sd, rtol=1e-9)
    np.testing.assert_allclose(ours.mean, exact.mean, rtol=0, atol=1e-9)


def test_a_row_that_says_nothing_is_no_neighbour() -> None:
    """A line through 0 without noise: the row at 0 has no variance, and each other row gives the slope."""
    linear = kernel_named("linear")
    ours = condition_by_neighbours(linear, np.zeros(2), np.arange(4.0), np.arange(4.0), noise=0.0, neighbours=1)
    assert (ours.predict([2.0]).mean[0], ours.predict([2.0]).latent_variance[0]) == (2.0, 0.0)


def test_neighbours_have_to_fit_the_memory_too() -> None:
    kernel, x = kernel_named("rbf"), np.arange(100.0)
    for make in (condition_by_neighbours, condition_within_memory):
        with pytest.raises(DataError, match=r"90 neighbours need 0\.00 GB for 1 matrices of 90 x 90, over the limit"):
            make(kernel, np.zeros(3), x, x, memory_limit=8 * 90 * 90 - 1, neighbours=90)
    ours = condition_by_neighbours(kernel, np.zeros(3), x[:80], x[:80], memory_limit=8 * 80 * 80, neighbours=90)
    with pytest.raises(DataError, match="81 neighbours need"):
        ours.append([100.0], [1.0])
    compound = kernel_named("rbf + constant")
    with pytest.raises(DataError, match="2 matrices of 90 x 90"):
        condition_by_neighbours(compound, np.zeros(4), x, x, memory_limit=8 * 90 * 90, neighbours=90)


def test_bad_input_is_refused() -> None:
    kernel = kernel_named("rbf")
    with pytest.raises(DataError, match="0 neighbours"):
        condition_by_neighbours(kernel, np.zeros(3), [1.0], [1.0], neighbours=0)
    with pytest.raises(DataError, match="16385 neighbours: expected 1 to 16384"):
        condition_by_neighbours(kernel, np.zeros(3), [1.0], [1.0], neighbours=16_385)
    with pytest.raises(DataError, match=r"1\.5 neighbours: expected a whole number"):
        condition_by_neighbours(kernel, np.zeros(3), [1.0], [1.0], neighbours=1.5)  # type: ignore[arg-type]  # bad
    ours = condition_by_neighbours(kernel, np.zeros(3), [1.0, 2.0], [1.0, 2.0])
    with pytest.raises(DataError, match="row 1"):
        ours.predict([np.inf])
    with pytest.raises(DataError, match="2 columns, the model has 1 features"):
        ours.predict([[1.0, 2.0]])
    with pytest.raises(NumericalError, match="overflow"):
        ours.predict([1e300])
    assert ours.predict([]).mean.shape == (0,)

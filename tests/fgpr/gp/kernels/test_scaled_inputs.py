import numpy as np
import pytest
from scipy.spatial.distance import cdist

from fgpr.errors import NumericalError
from fgpr.gp.kernels.scaled_inputs import ScaledInputs


def test_squared_distances_far_from_the_origin() -> None:
    X = 1e6 + np.random.default_rng(1).uniform(size=(25, 4))
    lengthscales = np.array([0.5, 1.0, 2.0, 4.0])
    scaled = ScaledInputs(X)
    scaled.rescale(lengthscales)
    out = np.full((25, 25), np.nan, order="F")
    scaled.squared_distances(3.0, out)
    expected = 3.0 * cdist(X / lengthscales, X / lengthscales, "sqeuclidean")
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-8)


def test_rounding_bounds_the_distance_of_equal_rows() -> None:
    X = np.repeat(np.random.default_rng(2).uniform(0, 1e3, size=(50, 3)), 2, axis=0)
    scaled = ScaledInputs(X)
    scaled.rescale(np.ones(3))
    out = np.empty((100, 100), order="F")
    scaled.squared_distances(0.5, out)
    assert np.abs(out[np.arange(0, 100, 2), np.arange(1, 100, 2)]).max() <= scaled.rounding


def test_rescale_replaces_the_scale_before() -> None:
    scaled = ScaledInputs(np.array([[0.0], [2.0]]))
    scaled.rescale(np.array([4.0]))
    scaled.rescale(np.array([2.0]))
    assert scaled.scaled.tolist() == [[-0.5], [0.5]]
    assert scaled.scaled_and_one.tolist() == [[-0.5, 1.0], [0.5, 1.0]]


def test_overflow_is_an_error_and_never_nan() -> None:
    with pytest.raises(NumericalError, match="overflow"):
        ScaledInputs(np.array([[0.0], [1e200]])).rescale(np.array([1e-3]))

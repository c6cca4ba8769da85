import numpy as np
import pytest

from fgpr.errors import NumericalError
from fgpr.gp.arrays import Array, diagonal
from fgpr.gp.cholesky import JITTER_START, explain, factorise

EPSILON = 1e-15


def run(correlations: Array, ratio: float | Array, limit: float = 1e-6) -> tuple[Array, float]:
    matrix = np.empty(correlations.shape, order="F")

    def fill() -> None:
        matrix[...] = correlations

    jitter = factorise(fill, matrix, ratio, EPSILON, limit)
    return np.tril(matrix), jitter


def test_factor_of_a_sound_matrix_has_no_jitter() -> None:
    correlations = np.array([[1.0, 0.5], [0.5, 1.0]])
    factor, jitter = run(correlations, np.array([0.25, 1.0]))
    assert jitter == 0.0
    np.testing.assert_allclose(factor @ factor.T, [[1.25, 0.5], [0.5, 2.0]], rtol=1e-15)


def test_a_singular_matrix_gets_the_least_jitter_and_says_so() -> None:
    factor, jitter = run(np.ones((3, 3)), 0.0)
    assert jitter == JITTER_START
    np.testing.assert_allclose(factor @ factor.T, np.ones((3, 3)) + JITTER_START * np.eye(3), rtol=0, atol=1e-15)


def test_jitter_grows_as_far_as_needed() -> None:
    # The least eigenvalue is -2e-9, so that 1e-9 is too little and 1e-8 the first power of ten that does.
    _, jitter = run(np.array([[1.0, 1.0 + 2e-9], [1.0 + 2e-9, 1.0]]), 0.0)
    assert jitter == pytest.approx(1e-8, rel=1e-12)


@pytest.mark.parametrize("limit", [0.0, 1e-6])
def test_beyond_the_limit_it_is_refused(limit: float) -> None:
    with pytest.raises(NumericalError, match="not positive definite"):
        run(np.array([[1.0, 2.0], [2.0, 1.0]]), 0.0, limit)


def test_a_factor_by_rounding_alone_does_not_count() -> None:
    almost = np.array([[1.0, 1.0 - 1e-16], [1.0 - 1e-16, 1.0]])
    assert np.linalg.cholesky(almost).shape == (2, 2), "plain Cholesky takes it"
    with pytest.raises(NumericalError):
        run(almost, 0.0, limit=0.0)


def test_not_a_number_is_refused() -> None:
    with pytest.raises(NumericalError):
        run(np.array([[1.0, np.nan], [np.nan, 1.0]]), 0.1)


def test_the_diagonal_is_a_view() -> None:
    matrix = np.zeros((3, 3), order="F")
    diagonal(matrix)[:] = [1.0, 2.0, 3.0]
    assert matrix.tolist() == np.diag([1.0, 2.0, 3.0]).tolist()


def test_the_explanation_names_duplicates_and_the_remedy() -> None:
    error = NumericalError("not positive definite with a jitter up to 0")
    duplicates = np.array([[1.0], [1.0], [3.0], [4.0], [3.0]])
    assert "rows 1, 2; rows 3, 5; give a noise above 0" in str(explain(error, duplicates))
    many = np.repeat(np.arange(5.0), 2)[:, None]
    assert "and 2 more groups" in str(explain(error, many))
    assert "too close for their length-scales" in str(explain(error, np.arange(3.0)[:, None]))

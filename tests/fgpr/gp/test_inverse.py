import numpy as np
import pytest
from scipy.linalg.lapack import dpotrf

from fgpr.gp.inverse import invert_from_factor, invert_triangle


@pytest.mark.parametrize("rows", [0, 1, 2, 63, 64, 65, 129, 257, 600])
def test_the_inverses_are_those_of_numpy(rows: int) -> None:
    rng = np.random.default_rng(rows)
    root = rng.normal(size=(rows, rows + 5))
    matrix = np.asfortranarray(root @ root.T / (rows + 1) + np.eye(rows))
    factor = np.asfortranarray(np.linalg.cholesky(matrix))
    factor += np.triu(np.full((rows, rows), np.nan), 1)
    of_factor, of_matrix = factor.copy(order="F"), factor.copy(order="F")
    invert_triangle(of_factor)
    np.testing.assert_allclose(np.tril(of_factor), np.linalg.inv(np.tril(factor)), rtol=0, atol=1e-12)
    invert_from_factor(of_matrix)
    np.testing.assert_allclose(np.tril(of_matrix), np.tril(np.linalg.inv(matrix)), rtol=0, atol=1e-12)


def test_a_nearly_singular_matrix_is_inverted_as_well_as_by_lapack() -> None:
    x = np.linspace(0.0, 1.0, 300)
    matrix = np.asfortranarray(np.exp(-0.5 * np.subtract.outer(x, x) ** 2 / 0.3**2) + 1e-8 * np.eye(300))
    factor, info = dpotrf(matrix, lower=1)
    assert info == 0
    invert_from_factor(factor)
    inverse = np.tril(factor) + np.tril(factor, -1).T
    residual, theirs = (np.abs(each @ matrix - np.eye(300)).max() for each in (inverse, np.linalg.inv(matrix)))
    assert residual <= 10 * theirs

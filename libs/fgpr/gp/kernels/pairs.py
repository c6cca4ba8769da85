"""Squared differences of every pair of few inputs, kept, so that a step needs one product of a matrix and a vector.

For a small batch the calls cost more than the arithmetic, and this takes the fewest. It costs 12 n^2 d bytes, and
distances come from differences: nothing cancels.
"""

import numpy as np
from scipy.linalg.blas import dgemv

from fgpr.gp.arrays import Array

LIMIT = 16_384
"""Largest n^2 d: where more numbers than that would be read at each step, products of the inputs are faster."""


class Pairs:
    """The pairs of n inputs of d features.

    Args:
        X: shape (n, d), at least two rows.
    """

    def __init__(self, X: Array) -> None:
        rows, features = X.shape
        difference = X[:, np.newaxis, :] - X
        # What overflows here is not finite in the likelihood either, which says so.
        with np.errstate(over="ignore"):
            difference *= difference
        squares = difference.reshape(rows * rows, features)
        self._squares = np.ascontiguousarray(squares.T)
        # In the order of a Fortran array, where the lower triangle comes below the diagonal of each column.
        self._places = np.flatnonzero(np.triu(np.ones((rows, rows), dtype=bool), 1))
        self._lower = np.asfortranarray(squares[self._places])

    def weighted_sum(self, weights: Array, out: Array) -> None:
        """The sum over d of weights_d (x_id - x_jd)^2 into `out`, of shape (n, n) in Fortran order."""
        np.dot(weights, self._squares, out=out.ravel("K"))

    def sums(self, weights: Array) -> Array:
        """Half the sum over ij of w_ij (x_id - x_jd)^2 for each feature, of shape (d,).

        Args:
            weights: w, symmetric, shape (n, n), Fortran order; only its lower triangle is read.
        """
        # BLAS overflows without a warning, unlike `np.dot`; the caller looks at what comes out.
        total: Array = dgemv(1.0, self._lower, weights.ravel("K").take(self._places), trans=1)
        return total

"""Squared differences of every pair of few inputs, kept, so that a step needs one product of a matrix and a vector.

For a small batch the calls cost more than the arithmetic, and this takes the fewest. It costs 4 n^2 d bytes, and
distances come from differences: nothing cancels.
"""

import numpy as np
from scipy.linalg.blas import dgemv

from fgpr.gp.arrays import Array
from fgpr.gp.triangle import layout


class Pairs:
    """The pairs of n inputs of d features, as a triangle packed by `fgpr.gp.triangle`.

    Args:
        X: shape (n, d).
    """

    def __init__(self, X: Array) -> None:
        first, second, *_ = layout(len(X))
        # What overflows here is not finite in the likelihood either, which says so.
        with np.errstate(over="ignore"):
            difference = X.take(first, axis=0)
            difference -= X.take(second, axis=0)
            difference *= difference
        self._squares = np.asfortranarray(difference)

    def weighted_sum(self, factor: float, weights: Array) -> Array:
        """Factor times the sum over d of weights_d (x_id - x_jd)^2, of shape (n (n + 1) / 2,)."""
        # BLAS overflows without a warning, unlike `np.dot`; the caller looks at what comes out.
        squares: Array = dgemv(factor, self._squares, weights)
        return squares

    def sums(self, factor: float, weights: Array) -> Array:
        """Factor times half the sum over all ij of w_ij (x_id - x_jd)^2 for each feature, of shape (d,).

        Args:
            factor: of all.
            weights: w, symmetric, its lower triangle packed.
        """
        total: Array = dgemv(factor, self._squares, weights, trans=1)
        return total

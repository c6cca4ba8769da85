"""Inputs divided by their length-scales, laid out so that one matrix product gives every squared distance.

With z_i the scaled inputs and q_i = -|z_i|^2 / 2, the product of the rows [z_i, 1, q_i] and [z_j, q_j, 1] is
z_i z_j + q_i + q_j = -|z_i - z_j|^2 / 2.
"""

import math

import numpy as np
from scipy.linalg.blas import dgemm

from fgpr.errors import NumericalError
from fgpr.gp.arrays import Array

_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)


class ScaledInputs:
    """n inputs of d features, to be rescaled at each step of a training without new memory.

    Inputs are centred once: distances do not change, and the cancellation in the product above stays small.

    Attributes:
        rows: n.
        features: d.
        rounding: bound on the rounding of the squared distances, after `rescale`.
    """

    def __init__(self, X: Array, centre: Array | None = None) -> None:
        self.rows: int = X.shape[0]
        self.features: int = X.shape[1]
        self._centred = np.asfortranarray(X - (X.mean(axis=0) if centre is None else centre))
        d = self.features
        self._left = np.ones((self.rows, d + 2), order="F")
        self._right = np.ones((self.rows, d + 2), order="F")
        self._scaled = self._left[:, :d]
        self.rounding = 0.0

    @property
    def scaled(self) -> Array:
        """z, of shape (n, d)."""
        return self._scaled

    @property
    def scaled_and_one(self) -> Array:
        """[z, 1], of shape (n, d + 1), contiguous by columns."""
        return self._left[:, : self.features + 1]

    def rescale(self, lengthscales: Array) -> None:
        """Divide by these length-scales, of shape (d,), in units of the inputs.

        Raises:
            NumericalError: an input over its length-scale is too large to be squared.
        """
        d = self.features
        with np.errstate(over="ignore", invalid="ignore"):
            np.divide(self._centred, lengthscales, out=self._scaled)
            squares = np.einsum("ij,ij->i", self._scaled, self._scaled)
        squares *= -0.5
        self.rounding = _ROUNDING * (1.0 - float(squares.min(initial=0.0)))
        if not math.isfinite(self.rounding):
            raise NumericalError("inputs over length-scales overflow: scale the inputs or raise the length-scales")
        self._left[:, d + 1] = squares
        self._right[:, :d] = self._scaled
        self._right[:, d] = squares

    def squared_distances(self, factor: float, out: Array) -> None:
        """Factor times |z_i - z_j|^2 into `out`, of shape (n, n) in Fortran order; rounding can pass 0."""
        dgemm(-2.0 * factor, self._left, self._right, trans_b=1, c=out, overwrite_c=1)

    def squared_distances_to(self, other: "ScaledInputs", factor: float) -> Array:
        """Factor times the squared distances between these rows and those of `other`, of shape (n, m).

        Both have to be centred on the same point.
        """
        product: Array = dgemm(-2.0 * factor, self._left, other._right, trans_b=1)
        return product

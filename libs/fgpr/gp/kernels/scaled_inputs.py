"""Inputs divided by their length-scales, laid out so that one matrix product gives every squared distance.

With z_i the scaled inputs and q_i = |z_i|^2, the product of the rows [z_i, 1, q_i] and [-2 z_j, q_j, 1] is
q_i + q_j - 2 z_i z_j = |z_i - z_j|^2. Its rounding does not matter to a correlation that is smooth at 0; for
one that is not, distances are taken from differences, which costs more; so they are for few inputs of any kernel.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.linalg.blas import ddot, dgemm, dgemv, dtrmm, dtrmv

from fgpr.errors import NumericalError
from fgpr.gp.arrays import Array
from fgpr.gp.kernels.pairs import Pairs
from fgpr.gp.kernels.panels import WORTH_IT, Panel, buffer_for, panels
from fgpr.gp.triangle import pack, unpack

PAIRS_LIMIT = 16_384
"""Largest n^2 d for `Pairs`: where more numbers would be read at each step, products of the inputs are faster."""

_CROSS = 2**14
"""Numbers that a correlation is applied to at once, so that what it computes on the way stays small."""

Correlate = Callable[[Array, Array | None], None]
"""Turns squared distances into correlations, in place, and writes their weights: `Profile.correlate`."""

ROUNDING = 4.0 * float(np.finfo(np.float64).eps)


class ScaledInputs:
    """n inputs of d features, to be rescaled at each step of a training without new memory.

    Inputs are centred once: distances do not change, and the cancellation in the product above stays small.

    Args:
        X: shape (n, d).
        centre: what to subtract, shape (d,); the mean of the inputs if None.
        exact: take distances from differences.

    Attributes:
        rows: n.
        features: d.
        rounding: after `rescale`, bound on the rounding of the squared distances, or of the distances if exact.
    """

    def __init__(self, X: Array, centre: Array | None = None, exact: bool = False) -> None:
        self._exact = exact
        self.rows: int = X.shape[0]
        self.features: int = X.shape[1]
        self._centred = np.asfortranarray(X - (X.mean(axis=0) if centre is None else centre))
        d = self.features
        self._small = self.rows > 1 and self.rows * self.rows * d <= PAIRS_LIMIT
        self._pairs: Pairs | None = None
        self._left = np.ones((self.rows, d + 2), order="F")
        self._right = np.ones((self.rows, d + 2), order="F")
        self._scaled = self._left[:, :d]
        self._squared = np.empty((self.rows, d), order="F")
        self._inverse = self._precision = np.ones(d)
        self._laid = False
        # Largest squares of each feature: they bound every square there will be, without a look at the inputs.
        with np.errstate(over="ignore"):
            self._reach = np.square(np.abs(self._centred).max(axis=0, initial=0.0))
        self.rounding = 0.0

    @property
    def scaled(self) -> Array:
        """z, of shape (n, d)."""
        self._lay()
        return self._scaled

    @property
    def scaled_and_one(self) -> Array:
        """[z, 1], of shape (n, d + 1), contiguous by columns."""
        self._lay()
        return self._left[:, : self.features + 1]

    def rescale(self, lengthscales: Array) -> None:
        """Divide by these length-scales, of shape (d,), in units of the inputs.

        Raises:
            NumericalError: an input over its length-scale is too large to be squared.
        """
        self._inverse = 1.0 / lengthscales
        self._precision = self._inverse * self._inverse
        self._laid = False
        # BLAS overflows without a warning, unlike `np.dot`.
        self.rounding = ROUNDING * (1.0 + 0.5 * ddot(self._reach, self._precision))
        if self._exact:
            self.rounding = math.sqrt(ROUNDING * self.rounding)
        if not math.isfinite(self.rounding):
            raise NumericalError("inputs over length-scales overflow: scale the inputs or raise the length-scales")

    def settle(self) -> None:
        """Bring the rows of the product above up to date now; from here to the next `rescale` nothing is written."""
        self._lay()

    def _lay(self) -> None:
        """What `settle` does, when it is first needed: `rescale` alone would do for `Pairs`."""
        if self._laid:
            return
        d = self.features
        np.multiply(self._centred, self._inverse, out=self._scaled)
        np.multiply(self._scaled, self._scaled, out=self._squared)
        squares = np.add.reduce(self._squared, axis=1)
        self._left[:, d + 1] = squares
        np.multiply(self._scaled, -2.0, out=self._right[:, :d])
        self._right[:, d] = squares
        self._laid = True

    def squared_distances(self, factor: float, out: Array) -> None:
        """Factor times |z_i - z_j|^2 into `out`, of shape (n, n) in Fortran order."""
        if self._small:
            unpack(self._paired().weighted_sum(factor, self._precision), out)
            return
        self._lay()
        if self._exact:
            _squared_differences(self._scaled, self._scaled, out.T)
            out *= factor
        else:
            dgemm(factor, self._left, self._right, trans_b=1, c=out, overwrite_c=1)
            _drop_wrong_signs(out, factor)

    def squared_distances_in(self, panel: Panel, factor: float, out: Array) -> None:
        """Factor times |z_i - z_j|^2 of one panel into `out`, of the panel's shape, contiguous in Fortran order."""
        self._lay()
        if self._exact:
            _squared_differences(self._scaled[panel.start : panel.stop], self._scaled[panel.start :], out.T)
            out *= factor
        else:
            left, right = self._left[panel.start :], self._right[panel.start : panel.stop]
            dgemm(factor, left, right, trans_b=1, c=out, overwrite_c=1)
            _drop_wrong_signs(out, factor)

    def squared_distances_to(self, other: "ScaledInputs", factor: float) -> Array:
        """Factor times the squared distances between these rows and those of `other`, of shape (n, m).

        Both have to be centred on the same point.
        """
        self._lay()
        other._lay()
        if self._exact:
            squares = _squared_differences(other._scaled, self._scaled).T
            squares *= factor
            return squares
        product: Array = dgemm(factor, self._left, other._right, trans_b=1)
        _drop_wrong_signs(product, factor)
        return product

    def weighted_spread(self, weights: Array) -> Array:
        """sum_ij w_ij (z_id - z_jd)^2 / 2 for each feature d, of shape (d,).

        Args:
            weights: w, symmetric, shape (n, n), Fortran order; only its lower triangle is read.
        """
        if self._small:
            return self._paired().sums(1.0, pack(weights)) * self._precision
        self._lay()
        if self._exact:
            return sum((self._spread_in(panel, weights) for panel in panels(self.rows)), np.zeros(self.features))
        # With T the lower triangle the sum is that of (T 1 + T' 1)_i z_i^2 - 2 z_i (T z)_i; a triangular product is
        # faster than a symmetric one.
        products = dtrmm(1.0, weights, self.scaled_and_one, lower=1)
        ends = dtrmv(weights, self._left[:, self.features], lower=1, trans=1)
        ends += products[:, -1]
        total: Array = dgemv(1.0, self._squared, ends, trans=1)
        # The right rows hold -2 z.
        total += np.einsum("ij,ij->j", self._right[:, : self.features], products[:, :-1])
        return total

    def correlations(self, factor: float, correlate: Correlate, out: Array, weight: Array | None) -> None:
        """Correlations of these rows with each other, and their weights, as `PlacedFactor.fill` wants them."""
        if self.rows < WORTH_IT:
            self.squared_distances(factor, out)
            correlate(out, weight)
            return
        squares, slopes = buffer_for(self.rows), None if weight is None else buffer_for(self.rows)
        for panel in panels(self.rows):
            part = panel.within(squares)
            slope = None if slopes is None else panel.within(slopes)
            self.squared_distances_in(panel, factor, part)
            correlate(part, slope)
            panel.of(out)[...] = part
            if weight is not None:
                panel.of(weight)[...] = slope

    def correlations_with(self, other: "ScaledInputs", factor: float, correlate: Correlate) -> Array:
        """Correlations of these rows with those of `other`, which has the same centre; shape (n, m), Fortran order."""
        squares = self.squared_distances_to(other, factor)
        columns = max(1, _CROSS // max(1, self.rows))
        for start in range(0, other.rows, columns):
            correlate(squares[:, start : start + columns], None)
        return squares

    def _spread_in(self, panel: Panel, weights: Array) -> Array:
        lower = np.tril(panel.of(weights))
        here, there = self._scaled[panel.start :], self._scaled[panel.start : panel.stop]
        return np.array([_spread(lower, *ends) for ends in zip(here.T, there.T, strict=True)])

    def _paired(self) -> Pairs:
        if self._pairs is None:
            self._pairs = Pairs(self._centred)
        return self._pairs


def _squared_differences(left: Array, right: Array, out: Array | None = None) -> Array:
    """|z_i - z'_j|^2 from differences, of shape (n, m), in C order."""
    # Where it is used: most kernels never need it, and loading it takes a tenth of a second of a prediction's start.
    from scipy.spatial.distance import cdist

    squares: Array = cdist(left, right, "sqeuclidean", out=out)
    return squares


def _drop_wrong_signs(products: Array, factor: float) -> None:
    """Rounding of a product moves small distances past 0."""
    (np.maximum if factor > 0.0 else np.minimum)(products, 0.0, out=products)


def _spread(lower: Array, here: Array, there: Array) -> float:
    difference = np.subtract.outer(here, there)
    difference *= difference
    return float(np.einsum("ij,ij->", lower, difference))

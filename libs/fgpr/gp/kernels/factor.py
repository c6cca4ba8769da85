"""What a kernel of the text form is once it stands on inputs: one factor of a product, or the whole covariance.

A factor knows correlations only. Signal variances belong to the terms of the sum (`fgpr.gp.kernels.compound`), noise
to the likelihood and the posterior.
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from fgpr.gp.arrays import Array, diagonal
from fgpr.gp.kernels.panels import mirror


class PlacedFactor(Protocol):
    """A kernel on n inputs; `rescale` has to come before anything else."""

    @property
    def rounding(self) -> float:
        """Bound on the rounding of a correlation."""

    @property
    def blur(self) -> float:
        """What distances have lost: bound on the rounding of a correlation by that of its inputs' differences."""

    @property
    def diagonal(self) -> float | Array:
        """c(z_i, z_i), one number or shape (n,)."""

    def rescale(self, parameters: Array) -> None:
        """Take these parameters, in log space and in the order of theta.

        Raises:
            NumericalError: the scaled inputs overflow.
        """

    def settle(self) -> None:
        """Compute what `cross` would leave for its first call, so that several threads may call it at once."""

    def fill(self, correlation: Array, weight: Array | None) -> None:
        """Correlations of the inputs with themselves, and what `gradient` will need.

        Args:
            correlation: gets c(z_i, z_j) for i > j; shape (n, n), Fortran order. The diagonal is left to the caller,
                and above it may be anything afterwards.
            weight: gets what `gradient` needs, below the diagonal and on it; the same shape and order, or None.
        """

    def cross(self, other: Any) -> Array:
        """Correlations with the inputs of `other`, the same kernel with the same centre; (n, m), Fortran order."""

    def gradient(self, product: Array, weight: Array) -> Array:
        """sum_ij U_ij d c_ij / d p / 2 for each log parameter p.

        Args:
            product: U, symmetric; only its lower triangle is read. It is overwritten.
            weight: as `fill` left it.
        """

    def derivatives(self) -> Iterator[Array]:
        """The derivatives d c / d p for each log parameter p, each of shape (n, n), Fortran order.

        Each may be overwritten by the caller, and is by the next one.
        """


Place = Callable[[Array, Array | None], Any]
"""Makes a `PlacedFactor` of inputs, shape (n, d), and their centre, shape (d,), or None for their own mean."""


def correlation_of(factor: PlacedFactor, rows: int) -> Array:
    """The whole correlation matrix, shape (n, n), Fortran order."""
    correlation = np.empty((rows, rows), order="F")
    factor.fill(correlation, None)
    diagonal(correlation)[:] = factor.diagonal
    mirror(correlation)
    return correlation


def weight_of(factor: PlacedFactor, rows: int) -> Array:
    """The whole matrix of weights, shape (n, n), Fortran order."""
    correlation, weight = (np.empty((rows, rows), order="F") for _ in range(2))
    factor.fill(correlation, weight)
    mirror(weight)
    return weight


def differences(column: Array, out: Array) -> None:
    """x_i - x_j into `out`, of shape (n, n)."""
    np.subtract(column[:, np.newaxis], column[np.newaxis, :], out=out)


def by_lengthscales(scaled: Array, weight: Array) -> Iterator[Array]:
    """w_ij (z_id - z_jd)^2 for each feature d, as `PlacedFactor.derivatives` gives its matrices."""
    matrix = np.empty_like(weight)
    for column in scaled.T:
        differences(column, matrix)
        matrix *= matrix
        matrix *= weight
        yield matrix

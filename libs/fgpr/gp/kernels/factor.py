"""What a kernel of the text form is once it stands on inputs: one factor of a product, or the whole covariance.

A factor knows correlations only. Signal variances belong to the terms of the sum (`fgpr.gp.kernels.compound`), noise
to the likelihood and the posterior.
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from fgpr.gp.arrays import Array, diagonal


class PlacedFactor(Protocol):
    """A kernel on n inputs; `rescale` has to come before anything else."""

    @property
    def rounding(self) -> float:
        """Bound on the rounding of a correlation."""

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
        """The derivatives d c / d p for each log parameter p, each of shape (n, n)."""


Place = Callable[[Array, Array | None], Any]
"""Makes a `PlacedFactor` of inputs, shape (n, d), and their centre, shape (d,), or None for their own mean."""


def filled(factor: PlacedFactor, rows: int) -> tuple[Array, Array]:
    """Correlations with their diagonal, and the weight, in new arrays."""
    correlation, weight = (np.empty((rows, rows), order="F") for _ in range(2))
    factor.fill(correlation, weight)
    diagonal(correlation)[:] = factor.diagonal
    return symmetric(correlation), symmetric(weight)


def symmetric(lower: Array) -> Array:
    """The symmetric matrix of a lower triangle, in Fortran order."""
    full: Array = np.asfortranarray(np.tril(lower))
    full += np.tril(full, -1).T
    return full

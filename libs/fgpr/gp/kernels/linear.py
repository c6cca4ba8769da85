"""A linear mean without intercept whose slopes are integrated out.

Slopes with independent normal priors of variance s^2 add s^2 sum_d z_d z'_d to the covariance (Rasmussen & Williams
2006, sec. 4.2.2 p. 89 and sec. 2.7 p. 28). Inputs enter as z_d = (x_d - middle of the feature's range) / range, so
that s, its term's signal standard deviation, is that of the change over the whole range of a feature. An intercept is
the kernel `constant`.
"""

import math
from collections.abc import Iterator

import numpy as np
from scipy.linalg.blas import dgemm

from fgpr.errors import NumericalError
from fgpr.gp.arrays import Array

_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)


class PlacedLinear:
    """See `fgpr.gp.kernels.factor.PlacedFactor`. No parameters, and no distances.

    Args:
        X: shape (n, d).
        middle: of the features' ranges, shape (d,), or one number.
        range_: upper minus lower limit, shape (d,), or one number.
    """

    blur: float = 0.0

    def __init__(self, X: Array, middle: Array | float, range_: Array | float) -> None:
        with np.errstate(over="ignore"):
            self._scaled = np.asfortranarray((X - middle) / range_)
            self.diagonal: Array = np.einsum("ij,ij->i", self._scaled, self._scaled)
        self.rounding = _ROUNDING * (1.0 + float(self.diagonal.max(initial=0.0)))

    def rescale(self, parameters: Array) -> None:  # noqa: ARG002 - no parameters
        """Nothing to take.

        Raises:
            NumericalError: an input is too large to be squared.
        """
        if not math.isfinite(self.rounding):
            raise NumericalError("inputs of a linear kernel overflow: scale the inputs")

    def settle(self) -> None:
        """Nothing is left for later."""

    def fill(self, correlation: Array, weight: Array | None) -> None:  # noqa: ARG002 - it has no parameters
        """See the protocol."""
        np.matmul(self._scaled, self._scaled.T, out=correlation)

    def cross(self, other: "PlacedLinear") -> Array:
        """See the protocol."""
        product: Array = dgemm(1.0, self._scaled, other._scaled, trans_b=1)
        return product

    def gradient(self, product: Array, weight: Array) -> Array:  # noqa: ARG002 - no parameters
        """See the protocol."""
        return np.empty(0)

    def derivatives(self) -> Iterator[Array]:
        """See the protocol."""
        return iter(())

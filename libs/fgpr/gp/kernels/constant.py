"""A constant mean whose coefficient is integrated out.

A constant with a normal prior of variance s^2 adds s^2 to every covariance (Rasmussen & Williams 2006, sec. 2.7 p.
28), so that as a kernel it is the correlation 1, and s is its term's signal standard deviation: trained and shared by
all clients, while each client's own constant follows from its own data.
"""

from collections.abc import Iterator

import numpy as np

from fgpr.gp.arrays import Array


class PlacedConstant:
    """See `fgpr.gp.kernels.factor.PlacedFactor`. No parameters."""

    diagonal: float = 1.0
    rounding: float = float(np.finfo(np.float64).eps)
    blur: float = 0.0

    def __init__(self, X: Array, centre: Array | None) -> None:  # noqa: ARG002 - every factor is placed alike
        self._rows = len(X)

    def rescale(self, parameters: Array) -> None:
        """Nothing to take."""

    def settle(self) -> None:
        """Nothing is left for later."""

    def fill(self, correlation: Array, weight: Array | None) -> None:  # noqa: ARG002 - no parameters
        """See the protocol."""
        correlation[...] = 1.0

    def cross(self, other: "PlacedConstant") -> Array:
        """See the protocol."""
        return np.ones((self._rows, other._rows), order="F")

    def gradient(self, product: Array, weight: Array) -> Array:  # noqa: ARG002 - no parameters
        """See the protocol."""
        return np.empty(0)

    def derivatives(self) -> Iterator[Array]:
        """See the protocol."""
        return iter(())

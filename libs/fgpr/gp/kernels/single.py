"""A covariance of one kernel: the signal variance times its correlation.

Everything is done in the two buffers that the caller brings, in as few passes as there can be: this is the path whose
time is held against bare LAPACK.
"""

import math
from collections.abc import Iterator

from fgpr.gp.arrays import Array, diagonal
from fgpr.gp.kernels.factor import PlacedFactor, correlation_of


class PlacedSingle:
    """See `fgpr.gp.kernels.kernel.Placed`. Theta is [log signal sd, log noise sd, parameters of the kernel...]."""

    __slots__ = ("_factor", "rows", "signal_variance")

    def __init__(self, factor: PlacedFactor, rows: int) -> None:
        self._factor = factor
        self.rows = rows
        self.signal_variance = 1.0

    @property
    def rounding(self) -> float:
        """See the protocol."""
        return self._factor.rounding

    @property
    def blur(self) -> float:
        """See the protocol."""
        return self._factor.blur

    @property
    def diagonal(self) -> float | Array:
        """See the protocol."""
        return self._factor.diagonal

    def rescale(self, theta: Array) -> None:
        """See the protocol."""
        self.signal_variance = math.exp(2.0 * theta[0])
        self._factor.rescale(theta[2:])

    def settle(self) -> None:
        """See the protocol."""
        self._factor.settle()

    def fill(self, matrix: Array, weight: Array | None) -> None:
        """See the protocol."""
        self._factor.fill(matrix, weight)
        diagonal(matrix)[:] = self._factor.diagonal

    def cross(self, other: "PlacedSingle") -> Array:
        """See the protocol."""
        return self._factor.cross(other._factor)

    def gradient(self, residual: Array, weight: Array, total: float, out: Array) -> None:
        """See the protocol."""
        out[0] = total
        out[2:] = self._factor.gradient(residual, weight)

    def derivatives(self) -> Iterator[tuple[int, Array]]:
        """See the protocol."""
        correlation = correlation_of(self._factor, self.rows)
        correlation *= 2.0
        yield 0, correlation
        del correlation
        yield from enumerate(self._factor.derivatives(), start=2)

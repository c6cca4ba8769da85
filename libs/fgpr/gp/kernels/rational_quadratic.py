"""Rational quadratic kernel with one length-scale a feature (ARD) and a trained alpha.

Rasmussen & Williams (2006), eq. (4.19) p. 86: c(x, x') = (1 + r^2 / (2 alpha))^-alpha, with
r^2 = sum_d (x_d - x'_d)^2 / l_d^2: a mixture of RBF kernels of different length-scales, all the more alike the larger
alpha is.
"""

from collections.abc import Iterator

import numpy as np

from fgpr.gp.arrays import Array
from fgpr.gp.kernels.factor import filled, symmetric
from fgpr.gp.kernels.scaled_inputs import ScaledInputs


class PlacedRationalQuadratic:
    """See `fgpr.gp.kernels.factor.PlacedFactor`. Parameters: log length-scales, log alpha."""

    diagonal: float = 1.0

    def __init__(self, X: Array, centre: Array | None) -> None:
        self._inputs = ScaledInputs(X, centre)
        self._alpha = 1.0

    @property
    def rounding(self) -> float:
        """Bound on the rounding of a correlation."""
        return self._inputs.rounding

    def rescale(self, parameters: Array) -> None:
        """See the protocol; raises as `ScaledInputs.rescale`."""
        self._inputs.rescale(np.exp(parameters[:-1]))
        self._alpha = float(np.exp(parameters[-1]))

    def settle(self) -> None:
        """See the protocol."""
        self._inputs.settle()

    def fill(self, correlation: Array, weight: Array | None) -> None:
        """See the protocol; with v = 1 + r^2 / (2 alpha), d c / d log l_d = c / v (z_d - z'_d)^2."""
        self._inputs.squared_distances(0.5 / self._alpha, correlation)
        self._correlate(correlation, weight)

    def cross(self, other: "PlacedRationalQuadratic") -> Array:
        """See the protocol."""
        squares = self._inputs.squared_distances_to(other._inputs, 0.5 / self._alpha)
        self._correlate(squares, None)
        return squares

    def gradient(self, product: Array, weight: Array) -> Array:
        """See the protocol."""
        for_alpha = 0.5 * float(np.einsum("ij,ij->", symmetric(product), self._by_alpha()))
        product *= weight
        return np.append(self._inputs.weighted_spread(product), for_alpha)

    def derivatives(self) -> Iterator[Array]:
        """See the protocol."""
        _, weight = filled(self, self._inputs.rows)
        for column in self._inputs.scaled.T:
            difference = np.subtract.outer(column, column)
            yield weight * difference * difference
        yield self._by_alpha()

    def _correlate(self, u: Array, weight: Array | None) -> None:
        """Turn u = v - 1 into correlations."""
        base = 1.0 + u if weight is not None else None
        np.log1p(u, out=u)
        u *= -self._alpha
        np.exp(u, out=u)
        if weight is not None and base is not None:
            np.divide(u, base, out=weight)

    def _by_alpha(self) -> Array:
        """The derivative d c / d log alpha = alpha c ((v - 1) / v - log v)."""
        u = np.empty((self._inputs.rows, self._inputs.rows), order="F")
        self._inputs.squared_distances(0.5 / self._alpha, u)
        logs = np.log1p(u)
        derivative: Array = self._alpha * np.exp(-self._alpha * logs) * (u / (1.0 + u) - logs)
        return derivative

"""Rational quadratic kernel with one length-scale a feature (ARD) and a trained alpha.

Rasmussen & Williams (2006), eq. (4.19) p. 86: c(x, x') = (1 + r^2 / (2 alpha))^-alpha, with
r^2 = sum_d (x_d - x'_d)^2 / l_d^2: a mixture of RBF kernels of different length-scales, all the more alike the larger
alpha is.
"""

from collections.abc import Iterator

import numpy as np

from fgpr.gp.arrays import Array
from fgpr.gp.kernels.factor import by_lengthscales, weight_of
from fgpr.gp.kernels.panels import buffer_for, multiply_lower, panels
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

    @property
    def blur(self) -> float:
        """See the protocol."""
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
        self._inputs.correlations(0.5 / self._alpha, self._correlate, correlation, weight)

    def cross(self, other: "PlacedRationalQuadratic") -> Array:
        """See the protocol."""
        return self._inputs.correlations_with(other._inputs, 0.5 / self._alpha, self._correlate)

    def gradient(self, product: Array, weight: Array) -> Array:
        """See the protocol."""
        for_alpha = 0.0
        buffer = buffer_for(self._inputs.rows)
        for panel in panels(self._inputs.rows):
            part = panel.within(buffer)
            self._inputs.squared_distances_in(panel, 0.5 / self._alpha, part)
            self._by_alpha(part)
            # On the diagonal the derivative is 0, so that the lower triangle is half of the sum.
            for_alpha += float(np.einsum("ij,ij->", np.tril(panel.of(product)), part))
        multiply_lower(product, weight)
        return np.append(self._inputs.weighted_spread(product), for_alpha)

    def derivatives(self) -> Iterator[Array]:
        """See the protocol."""
        yield from by_lengthscales(self._inputs.scaled, weight_of(self, self._inputs.rows))
        matrix = np.empty((self._inputs.rows, self._inputs.rows), order="F")
        self._inputs.squared_distances(0.5 / self._alpha, matrix)
        self._by_alpha(matrix)
        yield matrix

    def _correlate(self, u: Array, weight: Array | None) -> None:
        """Turn u = v - 1 into correlations."""
        if weight is not None:
            np.add(u, 1.0, out=weight)
        np.log1p(u, out=u)
        u *= -self._alpha
        np.exp(u, out=u)
        if weight is not None:
            np.divide(u, weight, out=weight)

    def _by_alpha(self, u: Array) -> None:
        """Turn u = v - 1 into the derivative d c / d log alpha = alpha c ((v - 1) / v - log v)."""
        logs = np.log1p(u)
        # (v - 1) / v = 1 - exp(-log v), without room for v.
        np.negative(logs, out=u)
        np.expm1(u, out=u)
        np.negative(u, out=u)
        u -= logs
        logs *= -self._alpha
        np.exp(logs, out=logs)
        u *= logs
        u *= self._alpha

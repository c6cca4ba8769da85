"""Periodic kernel with one length-scale and one period a feature, both trained.

Rasmussen & Williams (2006), eq. (4.31) p. 92: c(x, x') = exp(-2 sum_d sin^2(pi (x_d - x'_d) / p_d) / l_d^2). Each
feature is a point on a circle, (cos phi, sin phi) / l with phi = 2 pi x / p; since 2 sin^2(t / 2) = 1 - cos t, the
kernel is an RBF on these points, and positive definite for any number of features. Length-scales have no unit.
"""

from collections.abc import Iterator

import numpy as np
from scipy.linalg.blas import dsymm

from fgpr.errors import NumericalError
from fgpr.gp.arrays import Array
from fgpr.gp.kernels.factor import correlation_of, differences
from fgpr.gp.kernels.panels import multiply_lower
from fgpr.gp.kernels.rbf import RBF
from fgpr.gp.kernels.scaled_inputs import ScaledInputs

_ON_CIRCLES = RBF()

_LARGEST_PHASE = 1e8
"""Beyond it a phase has lost so many digits that its sine means little."""


class PlacedPeriodic:
    """See `fgpr.gp.kernels.factor.PlacedFactor`. Parameters: log length-scales, log periods."""

    diagonal: float = 1.0

    def __init__(self, X: Array, centre: Array | None) -> None:
        self._centred = X - (X.mean(axis=0) if centre is None else centre)
        self._phases = self._centred
        self._circles = np.empty((len(X), 2 * X.shape[1]))
        self._inverse_squares = np.empty(X.shape[1])
        self._inputs = ScaledInputs(self._circles, np.zeros(2 * X.shape[1]))

    @property
    def rounding(self) -> float:
        """Bound on the rounding of a correlation."""
        return self._inputs.rounding

    @property
    def blur(self) -> float:
        """See the protocol."""
        return self._inputs.rounding

    def rescale(self, parameters: Array) -> None:
        """See the protocol.

        Raises:
            NumericalError: the inputs span so many periods, or the length-scale is so short, that digits are lost.
        """
        features = self._centred.shape[1]
        lengthscales, periods = np.exp(parameters[:features]), np.exp(parameters[features:])
        with np.errstate(over="ignore"):
            self._phases = self._centred * (2.0 * np.pi / periods)
        widest = float(np.abs(self._phases).max(initial=0.0))
        if not widest <= _LARGEST_PHASE:
            raise NumericalError(f"the inputs span {widest / np.pi:.3g} periods: raise the lower bound of the period")
        self._circles = np.hstack([np.cos(self._phases), np.sin(self._phases)])
        self._inputs = ScaledInputs(self._circles, np.zeros(2 * features))
        self._inputs.rescale(np.tile(lengthscales, 2))
        self._inputs.rounding *= 1.0 + widest
        self._inverse_squares = lengthscales**-2.0

    def settle(self) -> None:
        """See the protocol."""
        self._inputs.settle()

    def fill(self, correlation: Array, weight: Array | None) -> None:
        """See the protocol; the weight is the correlation itself."""
        self._inputs.correlations(_ON_CIRCLES.factor, _ON_CIRCLES.correlate, correlation, weight)

    def cross(self, other: "PlacedPeriodic") -> Array:
        """See the protocol."""
        return self._inputs.correlations_with(other._inputs, _ON_CIRCLES.factor, _ON_CIRCLES.correlate)

    def gradient(self, product: Array, weight: Array) -> Array:
        """See the protocol.

        With D = phi - phi', d c / d log p = c D sin(D) / l^2, and D sin D expands into products of a function of phi
        and one of phi', so that two matrix products serve all features.
        """
        multiply_lower(product, weight)
        features = self._phases.shape[1]
        circles = np.asfortranarray(self._circles)
        cos, sin = circles[:, :features], circles[:, features:]
        products = dsymm(1.0, product, circles, lower=1)
        by_period = np.einsum("ij,ij,ij->j", self._phases, sin, products[:, :features])
        by_period -= np.einsum("ij,ij,ij->j", self._phases, cos, products[:, features:])
        by_lengthscale = self._inputs.weighted_spread(product).reshape(2, features).sum(axis=0)
        return np.concatenate([by_lengthscale, by_period * self._inverse_squares])

    def derivatives(self) -> Iterator[Array]:
        """See the protocol."""
        correlation = correlation_of(self, self._inputs.rows)
        matrix = np.empty_like(correlation)
        for column, inverse in zip(self._phases.T, self._inverse_squares, strict=True):
            differences(0.5 * column, matrix)
            np.sin(matrix, out=matrix)
            matrix *= matrix
            matrix *= 4.0 * inverse
            matrix *= correlation
            yield matrix
        sines = np.empty_like(correlation)
        for column, inverse in zip(self._phases.T, self._inverse_squares, strict=True):
            differences(column, matrix)
            np.sin(matrix, out=sines)
            matrix *= sines
            matrix *= inverse
            matrix *= correlation
            yield matrix

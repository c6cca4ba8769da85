"""`AR`: co-kriging of two or more fidelities, which needs all data in one place (Kennedy and O'Hagan 2000).

From the lowest level up, f_1 = d_1 and f_t = rho_t f_{t-1} + d_t, with independent Gaussian processes d_j of RBF
covariances k_j. A row of level t sees d_j with weight w_j = rho_{j+1} ... rho_t for j <= t, else 0, so that for all
rows at once K = sum_j (w_j w_j') * k_j + noise. With R = K^-1 - a a', a = K^-1 y, the gradient of the negative log
likelihood by any parameter is sum(R * dK) / 2 (Rasmussen and Williams 2006, eq. 5.9).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from fgpr.errors import DataError, NumericalError
from fgpr.experiments.descents import best_descent
from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array
from fgpr.gp.inverse import invert_from_factor

STARTS = 5
_SPREAD = 0.7
"""Standard deviation of the starts after the first, in logs and in rho."""

_LOG_SIGNAL = (math.log(1e-2), math.log(1e2))
_LOG_NOISE = (math.log(1e-2), math.log(10.0))
_LOG_LENGTH = (math.log(1e-2), math.log(1e2))
_RHO = (-5.0, 5.0)


class _Part(NamedTuple):
    """What one d_j adds to the covariance: none to rows of the levels below j, which come first.

    Attributes:
        own: the rows of level j and above.
        scaled: their inputs over the length-scales, shape (m, d).
        weights: of d_j in them, shape (m,).
        covariance: of d_j at them, shape (m, m).
    """

    own: slice
    scaled: Array
    weights: Array
    covariance: Array


class CoKriging:
    """A trained co-kriging model; predicts its highest level.

    Args:
        clients: the highest fidelity first, as the problems have them; targets scaled.
        rng: draws the starts after the first.
        starts: how many.

    Raises:
        DataError: fewer than two levels.
        NumericalError: no start leads to a finite likelihood.
    """

    def __init__(self, clients: Sequence[LocalData], rng: np.random.Generator, starts: int = STARTS) -> None:
        if len(clients) < 2:
            raise DataError(f"{len(clients)} fidelities: co-kriging needs at least two")
        rising = list(reversed(clients))
        counts = [client.y.size for client in rising]
        self._X = np.vstack([client.X for client in rising])
        self._y = np.concatenate([client.y for client in rising])
        self._level = np.repeat(np.arange(len(rising)), counts)
        self._first = np.concatenate([[0], np.cumsum(counts)[:-1]])
        self._count, self._inputs = len(rising), int(self._X.shape[1])
        self.parameters = self._fit(rng, starts)
        covariance, _ = self._covariance(self.parameters)
        self._solution = cho_solve(cho_factor(covariance, lower=True), self._y)

    @property
    def rho(self) -> Array:
        """rho_2 to rho_T, shape (T - 1,)."""
        return self.parameters[self._rho_place :].copy()

    def predict(self, X: Array) -> Array:
        """The mean of the highest fidelity at new inputs, shape (m,)."""
        mean = np.zeros(len(X))
        _, parts = self._covariance(self.parameters)
        for j, part in enumerate(parts):
            there = X / np.exp(self._lengths(self.parameters, j))
            signal = math.exp(2.0 * self.parameters[self._place(j)])
            cross = signal * np.exp(_exponents(there, part.scaled))
            top = self._weight_of(self.parameters, j, self._count - 1)
            mean += top * (cross @ (part.weights * self._solution[part.own]))
        return mean

    # Parameters: for each level log signal sd, log noise sd, d log length-scales; then rho_2 to rho_T.

    def _place(self, j: int) -> int:
        return j * (2 + self._inputs)

    @property
    def _rho_place(self) -> int:
        return self._place(self._count)

    def _lengths(self, parameters: Array, j: int) -> Array:
        place = self._place(j)
        return parameters[place + 2 : place + 2 + self._inputs]

    def _weight_of(self, parameters: Array, j: int, level: int) -> float:
        return float(np.prod(parameters[self._rho_place :][j:level]))

    def _weights(self, parameters: Array, j: int) -> Array:
        each = np.array([self._weight_of(parameters, j, level) for level in range(j, self._count)])
        weights: Array = each[self._level[self._first[j] :] - j]
        return weights

    def _covariance(self, parameters: Array) -> tuple[Array, list[_Part]]:
        parts = []
        noise = np.exp(2.0 * parameters[[self._place(j) + 1 for j in range(self._count)]])
        covariance: Array = np.diag(noise[self._level])
        for j in range(self._count):
            own = slice(int(self._first[j]), None)
            scaled = self._X[own] / np.exp(self._lengths(parameters, j))
            signal = math.exp(2.0 * parameters[self._place(j)])
            part = _Part(own, scaled, self._weights(parameters, j), signal * np.exp(_exponents(scaled, scaled)))
            covariance[own, own] += part.weights[:, np.newaxis] * part.covariance * part.weights
            parts.append(part)
        return covariance, parts

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """The negative log marginal likelihood, nats a row, and its gradient.

        Raises:
            NumericalError: K is not positive definite.
        """
        y = self._y
        covariance, parts = self._covariance(parameters)
        try:
            factor, _ = cho_factor(np.asfortranarray(covariance), lower=True, overwrite_a=True)
        except np.linalg.LinAlgError as error:
            raise NumericalError(f"co-kriging: {error}") from error
        a = cho_solve((factor, True), y)
        nats = 0.5 * y @ a + np.log(np.diag(factor)).sum() + 0.5 * y.size * math.log(2.0 * math.pi)
        invert_from_factor(factor)
        residual = np.tril(factor) + np.tril(factor, -1).T - np.outer(a, a)
        gradient = np.zeros(parameters.size)
        for j, part in enumerate(parts):
            place, weights = self._place(j), part.weights
            product = residual[part.own, part.own] * part.covariance
            towards = product @ weights
            gradient[place] = weights @ towards
            noise = math.exp(2.0 * parameters[place + 1])
            gradient[place + 1] = noise * np.diag(residual)[self._level == j].sum()
            # sum_ik W_ik (z_i - z_k)^2 / 2, for W symmetric: row sums on the squares, less the cross products.
            placed = weights[:, np.newaxis] * part.scaled
            lengths = (weights * towards) @ part.scaled**2 - ((product @ placed) * placed).sum(axis=0)
            gradient[place + 2 : place + 2 + self._inputs] = lengths
            for step in range(j, self._count - 1):
                # d w_j / d rho_{step + 2}: the product without that factor, for levels above the step.
                without = parameters.copy()
                without[self._rho_place + step] = 1.0
                change = np.where(self._level[part.own] > step, self._weights(without, j), 0.0)
                gradient[self._rho_place + step] += change @ towards
        return nats / y.size, gradient / y.size

    def _fit(self, rng: np.random.Generator, starts: int) -> Array:
        level = [(0.0, *_LOG_SIGNAL), (math.log(0.1), *_LOG_NOISE), *[(math.log(0.3), *_LOG_LENGTH)] * self._inputs]
        first, lower, upper = np.array(level * self._count + [(1.0, *_RHO)] * (self._count - 1)).T
        begun = [first + _SPREAD * rng.standard_normal(first.size) * (number > 0) for number in range(starts)]
        return best_descent(self.value_and_gradient, begun, lower, upper).theta


def _exponents(there: Array, here: Array) -> Array:
    """-|z - z'|^2 / 2 of all pairs, shape (n, m); never above 0."""
    squares = 0.5 * (there**2).sum(axis=1)[:, np.newaxis] + 0.5 * (here**2).sum(axis=1)
    exponents: Array = np.minimum(there @ here.T - squares, 0.0)
    return exponents

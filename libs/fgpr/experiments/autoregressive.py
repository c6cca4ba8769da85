"""`AR`: co-kriging of two or more fidelities, which needs all data in one place (Kennedy and O'Hagan 2000).

From the lowest level up, f_1 = d_1 and f_t = rho_t f_{t-1} + d_t, with independent Gaussian processes d_j of RBF
covariances k_j. A row of level t sees d_j with weight w_j = rho_{j+1} ... rho_t for j <= t, else 0, so that for all
rows at once K = sum_j (w_j w_j') * k_j + noise. With R = K^-1 - a a', a = K^-1 y, the gradient of the negative log
likelihood by any parameter is sum(R * dK) / 2 (Rasmussen and Williams 2006, eq. 5.9).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from fgpr.errors import DataError, NumericalError
from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array
from fgpr.gp.optimisers import minimise

STARTS = 5
_ITERATIONS = 200
_LOG_SIGNAL = (math.log(1e-2), math.log(1e2))
_LOG_NOISE = (math.log(1e-2), math.log(10.0))
_LOG_LENGTH = (math.log(1e-2), math.log(1e2))
_RHO = (-5.0, 5.0)
_JITTER = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class _Levels:
    """All rows, lowest level first.

    Attributes:
        X: shape (n, d).
        y: shape (n,).
        level: of each row, from 0, shape (n,).
        count: number of levels, T.
    """

    X: Array
    y: Array
    level: NDArray[np.intp]
    count: int


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
        X = np.vstack([client.X for client in rising])
        y = np.concatenate([client.y for client in rising])
        level = np.repeat(np.arange(len(rising)), [client.y.size for client in rising])
        self._rows = _Levels(X, y, level, len(rising))
        self._squares = (X[:, np.newaxis, :] - X[np.newaxis, :, :]) ** 2
        self.parameters = self._fit(rng, starts)
        self._scaled = [X / np.exp(self._lengths(self.parameters, j)) for j in range(self._rows.count)]
        covariance, _ = self._covariance(self.parameters)
        self._solution = cho_solve(cho_factor(covariance, lower=True), y)

    @property
    def rho(self) -> Array:
        """rho_2 to rho_T, shape (T - 1,)."""
        return self.parameters[-(self._rows.count - 1) :].copy()

    def predict(self, X: Array) -> Array:
        """The mean of the highest fidelity at new inputs, shape (m,)."""
        top = self._rows.count - 1
        cross = np.zeros((len(X), self._rows.y.size))
        for j in range(self._rows.count):
            there = X / np.exp(self._lengths(self.parameters, j))
            distance = ((there[:, np.newaxis, :] - self._scaled[j][np.newaxis, :, :]) ** 2).sum(axis=-1)
            signal = math.exp(2.0 * self.parameters[self._place(j)])
            weights = self._weights(self.parameters, j)
            cross += signal * self._weight_of(self.parameters, j, top) * weights * np.exp(-0.5 * distance)
        mean: Array = cross @ self._solution
        return mean

    # Parameters: for each level log signal sd, log noise sd, d log length-scales; then rho_2 to rho_T.

    def _place(self, j: int) -> int:
        return j * (2 + int(self._rows.X.shape[1]))

    def _lengths(self, parameters: Array, j: int) -> Array:
        place = self._place(j)
        return parameters[place + 2 : place + 2 + self._rows.X.shape[1]]

    def _weight_of(self, parameters: Array, j: int, level: int) -> float:
        rho = parameters[self._place(self._rows.count) :]
        return float(np.prod(rho[j:level])) if level >= j else 0.0

    def _weights(self, parameters: Array, j: int) -> Array:
        each = np.array([self._weight_of(parameters, j, level) for level in range(self._rows.count)])
        weights: Array = each[self._rows.level]
        return weights

    def _covariance(self, parameters: Array) -> tuple[Array, list[Array]]:
        """K, and for each level s_j^2 times its correlation."""
        parts = []
        covariance = np.zeros((self._rows.y.size,) * 2)
        for j in range(self._rows.count):
            scale = np.exp(-2.0 * self._lengths(parameters, j))
            part = np.exp(2.0 * parameters[self._place(j)] - 0.5 * (self._squares @ scale))
            weights = self._weights(parameters, j)
            covariance += weights[:, np.newaxis] * part * weights
            parts.append(part)
        noise = np.array([math.exp(2.0 * parameters[self._place(j) + 1]) for j in range(self._rows.count)])
        covariance[np.diag_indices_from(covariance)] += noise[self._rows.level] + _JITTER
        return covariance, parts

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """The negative log marginal likelihood, nats a row, and its gradient.

        Raises:
            NumericalError: K is not positive definite.
        """
        rows, y = self._rows, self._rows.y
        covariance, parts = self._covariance(parameters)
        try:
            factor = cho_factor(covariance, lower=True)
        except np.linalg.LinAlgError as error:
            raise NumericalError(f"co-kriging: {error}") from error
        a = cho_solve(factor, y)
        nats = 0.5 * y @ a + np.log(np.diag(factor[0])).sum() + 0.5 * y.size * math.log(2.0 * math.pi)
        residual = cho_solve(factor, np.eye(y.size)) - np.outer(a, a)
        gradient = np.zeros(parameters.size)
        rho_place = self._place(rows.count)
        for j, part in enumerate(parts):
            place, weights = self._place(j), self._weights(parameters, j)
            product = residual * part
            weighted = weights[:, np.newaxis] * product * weights
            gradient[place] = weighted.sum()
            scale = np.exp(-2.0 * self._lengths(parameters, j))
            gradient[place + 2 : place + 2 + scale.size] = 0.5 * np.einsum("ij,ijd->d", weighted, self._squares) * scale
            own = rows.level == j
            noise = math.exp(2.0 * parameters[place + 1])
            gradient[place + 1] = noise * np.diag(residual)[own].sum()
            for step in range(j, rows.count - 1):
                # d w_j / d rho_{step + 2}: the product without that factor, for levels above the step.
                without = parameters.copy()
                without[rho_place + step] = 1.0
                change = np.where(rows.level > step, self._weights(without, j), 0.0)
                gradient[rho_place + step] += change @ product @ weights
        return nats / y.size, gradient / y.size

    def _fit(self, rng: np.random.Generator, starts: int) -> Array:
        d, count = self._rows.X.shape[1], self._rows.count
        level = [(math.log(1.0), *_LOG_SIGNAL), (math.log(0.1), *_LOG_NOISE), *[(math.log(0.3), *_LOG_LENGTH)] * d]
        table = np.array(level * count + [(1.0, *_RHO)] * (count - 1))
        first, lower, upper = table.T
        best: Array = first
        value = math.inf
        for number in range(starts):
            begin = first if number == 0 else np.clip(first + 0.7 * rng.standard_normal(first.size), lower, upper)
            found = minimise(self.value_and_gradient, begin, lower, upper, _ITERATIONS)
            if found.value < value:
                best, value = found.theta, found.value
        return best

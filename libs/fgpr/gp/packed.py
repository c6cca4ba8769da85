"""The likelihood of few rows under one kernel of the distance, with its gradient, in fewer and shorter passes.

A mini-batch is small: what a step of it costs is calls and passes over a matrix. Here symmetric matrices are packed
triangles (`fgpr.gp.triangle`), which halves the exponentials and the passes, squared differences are kept
(`fgpr.gp.kernels.pairs`), and no call is made that an ordinary step can do without. What is not ordinary (a noise that
nearly vanishes, a matrix that needs jitter, numbers that overflow) is left to the general way, which says what is
wrong. Formulas are those of `fgpr.gp.likelihood`; since n = tr K^-1 K, the derivatives by the log sds have a short
form: that of the noise is q tr R, and both sum up to n - y'a / s2.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import ddot
from scipy.linalg.lapack import dpftrf, dpftri, dpftrs, dsfrk

from fgpr.gp.arrays import Array
from fgpr.gp.cholesky import JITTER_LIMIT
from fgpr.gp.hyperparameters import LENGTHSCALES, NOISE, SIGNAL
from fgpr.gp.kernels.pairs import Pairs
from fgpr.gp.kernels.radial import Profile
from fgpr.gp.kernels.scaled_inputs import ROUNDING
from fgpr.gp.triangle import layout

_MOST_ROWS = 255
_MOST_NUMBERS = 2**17
"""Largest n and n^2 d: above, a step gains little by the pairs that it would keep."""

_MOST_FOR_ONCE = 2**16
"""The same of n^2 d, for a mini-batch of one step: its pairs are made for nothing else."""

_CAUTION = 1e3
"""How far above the rounding of an entry the noise has to be: no pivot can then come near it."""

_LARGEST_FIT = 1e200

_LOG_2_PI = math.log(2.0 * math.pi)


class _Solved(NamedTuple):
    """What the gradient takes over from the value."""

    nats: float
    factor: Array
    a: Array
    fit: float
    ratio: float
    signal_variance: float
    precision: Array


def worth_packing(rows: int, features: int, once: bool) -> bool:
    """This way is the faster one for n rows of d inputs, on which one step is made or several."""
    return rows <= _MOST_ROWS and rows * rows * features <= (_MOST_FOR_ONCE if once else _MOST_NUMBERS)


class PackedLikelihood:
    """See the module. Not for use by two threads.

    Args:
        profile: the kernel.
        X: inputs, shape (n, d), finite.
        y: targets, shape (n,), finite.
    """

    def __init__(self, profile: Profile, X: Array, y: Array) -> None:
        self._profile = profile
        self._rows = len(y)
        self._pairs = Pairs(X)
        self._diagonal = layout(self._rows).diagonal
        self._weight = np.empty(self._rows * (self._rows + 1) // 2)
        self._y = y[:, np.newaxis]
        self._ones = np.ones(self._rows)
        # The square of a range is at least that of any input from their mean.
        with np.errstate(over="ignore"):
            self._reach = np.square(X.max(axis=0) - X.min(axis=0))

    def value(self, theta: Array) -> float | None:
        """The negative log marginal likelihood in nats at a theta that was checked; None: ask the general way."""
        solved = self._solve(theta, None)
        return None if solved is None else solved.nats

    def value_and_gradient(self, theta: Array) -> tuple[float, Array] | None:
        """The same with its gradient, of shape (d + 2,)."""
        solved = self._solve(theta, self._weight)
        if solved is None:
            return None
        nats, residual, a, fit, ratio, s2, precision = solved
        rows = self._rows
        dpftri(rows, residual, uplo="L", overwrite_a=1)
        dsfrk(rows, 1, -1.0 / s2, a, 1.0, residual, uplo="L", overwrite_c=1)
        by_noise = ratio * ddot(self._ones, residual[self._diagonal])
        residual *= self._weight
        gradient = np.empty(theta.size)
        gradient[SIGNAL] = rows - fit - by_noise
        gradient[NOISE] = by_noise
        gradient[LENGTHSCALES] = self._pairs.sums(self._profile.slope, residual) * precision
        return (nats, gradient) if math.isfinite(ddot(gradient, gradient)) else None

    def _solve(self, theta: Array, weight: Array | None) -> _Solved | None:
        """Leaves the kernel's weight in `weight`, if there is one."""
        rows = self._rows
        signal, noise = theta[:2].tolist()
        s2 = math.exp(2.0 * signal)
        ratio = math.exp(2.0 * noise) / s2
        precision = np.exp(-2.0 * theta[LENGTHSCALES])
        rounding = ROUNDING * (1.0 + 0.5 * ddot(self._reach, precision))
        if not (rounding < JITTER_LIMIT and _CAUTION * rounding < ratio):
            return None
        matrix = self._pairs.weighted_sum(self._profile.factor, precision)
        self._profile.correlate(matrix, weight)
        matrix[self._diagonal] += ratio
        _, info = dpftrf(rows, matrix, uplo="L", overwrite_a=1)
        if info:
            return None
        a, _ = dpftrs(rows, matrix, self._y, uplo="L")
        fit = ddot(self._y, a) / s2
        if not fit < _LARGEST_FIT:
            return None
        half_log_determinant = ddot(self._ones, np.log(matrix[self._diagonal]))
        nats = 0.5 * fit + half_log_determinant + rows * (signal + 0.5 * _LOG_2_PI)
        return _Solved(nats, matrix, a, fit, ratio, s2, precision)

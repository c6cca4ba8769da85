"""Negative log marginal likelihood of one client's data, with its exact gradient.

Rasmussen & Williams (2006), eq. (2.30) p. 19 and eq. (5.9) p. 114. With K = s2 (C + q I), s2 the signal variance and q
the ratio of noise to signal variance, everything is done on C + q I in two n x n buffers:

    a = (C + q I)^-1 y
    L = y'a / (2 s2) + log|C + q I| / 2 + n log(2 pi s2) / 2
    dL / d log signal sd = n - q tr (C + q I)^-1 - (y'a - q a'a) / s2       from tr K^-1 K_f = n - noise tr K^-1
    dL / d log noise sd  = q (tr (C + q I)^-1 - a'a / s2)
    dL / d log l_d       = sum_i r_i z_id^2 - z_d' M z_d,  M = ((C + q I)^-1 - a a' / s2) * w,  r = M 1

where w is the kernel's weight (see `fgpr.gp.kernels.kernel`). The last line needs one symmetric product for all d.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dsymm, dsyr
from scipy.linalg.lapack import dpotri, dpotrs

from fgpr.errors import DataError, NumericalError
from fgpr.gp.arrays import MEMORY_LIMIT, Array, check_memory, inputs, targets
from fgpr.gp.cholesky import JITTER_LIMIT, diagonal, factorise_covariance
from fgpr.gp.hyperparameters import LENGTHSCALES, NOISE, SIGNAL, check_theta
from fgpr.gp.kernels.kernel import Kernel
from fgpr.gp.kernels.scaled_inputs import ScaledInputs

_LOG_2_PI = math.log(2.0 * math.pi)


class Value(NamedTuple):
    """A negative log marginal likelihood.

    Attributes:
        nats: the total over all rows, constants included.
        jitter: what had to be added to the diagonal, in units of the signal variance; 0 almost always.
    """

    nats: float
    jitter: float


class ValueAndGradient(NamedTuple):
    """A negative log marginal likelihood with its gradient with respect to theta, of shape (d + 2,)."""

    nats: float
    gradient: Array
    jitter: float


class Workspace:
    """The two square buffers; one workspace may serve any number of likelihoods that are evaluated in turn."""

    def __init__(self, limit: int = MEMORY_LIMIT) -> None:
        self._limit = limit
        self._flat = (np.empty(0), np.empty(0))
        self._squares = (np.empty((0, 0)), np.empty((0, 0)))

    def squares(self, rows: int) -> tuple[Array, Array]:
        """Two matrices of shape (rows, rows) in Fortran order, with anything in them.

        Raises:
            DataError: they would take more memory than the limit.
        """
        if self._squares[0].shape[0] == rows:
            return self._squares
        size = rows * rows
        if self._flat[0].size < size:
            check_memory(rows, matrices=2, limit=self._limit)
            self._flat = (np.empty(size), np.empty(size))
        first, second = (flat[:size].reshape((rows, rows), order="F") for flat in self._flat)
        self._squares = (first, second)
        return self._squares


class Likelihood:
    """The negative log marginal likelihood of y given X as a function of theta. Not for use by two threads.

    Args:
        kernel: the correlation.
        X: inputs, shape (n, d), in the features' units.
        y: targets, shape (n,), already scaled.
        workspace: buffers to share; its own if None.
        jitter_limit: see `fgpr.gp.cholesky`.

    Raises:
        DataError: shapes that do not fit, no rows, or a value that is not finite.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        workspace: Workspace | None = None,
        jitter_limit: float = JITTER_LIMIT,
    ) -> None:
        self._kernel = kernel
        self._X = inputs(X)
        self._y = targets(y, len(self._X))
        if self._y.size == 0:
            raise DataError("no rows: a likelihood needs at least one")
        self._workspace = workspace or Workspace()
        self._jitter_limit = jitter_limit
        self.restrict(None)

    @property
    def rows(self) -> int:
        """Number of rows that count at present."""
        return self._active.rows

    @property
    def features(self) -> int:
        """Number of inputs a row."""
        return self._active.features

    def restrict(self, rows: npt.NDArray[np.intp] | None) -> None:
        """From now on evaluate on a mini-batch: these rows (counted from 0), or all of them for None."""
        self._active_X = self._X if rows is None else self._X[rows]
        self._active_y = self._y if rows is None else self._y[rows]
        self._active = ScaledInputs(self._active_X)

    def value(self, theta: npt.ArrayLike) -> Value:
        """The negative log marginal likelihood at theta, in nats.

        Raises:
            EncodingError: theta has another length.
            NumericalError: not positive definite, or not finite; names the cause.
        """
        nats, _, _, _, jitter = self._solve(check_theta(theta, self.features), None)
        return Value(nats, jitter)

    def value_and_gradient(self, theta: npt.ArrayLike) -> ValueAndGradient:
        """The negative log marginal likelihood at theta and its gradient.

        Raises:
            EncodingError: theta has another length.
            NumericalError: not positive definite, or not finite; names the cause.
        """
        vector = check_theta(theta, self.features)
        matrix, weight = self._workspace.squares(self.rows)
        nats, a, s2, q, jitter = self._solve(vector, weight)

        dpotri(matrix, lower=1, overwrite_c=1)
        trace = float(diagonal(matrix).sum())
        aa = float(a @ a) / s2
        ya = float(self._active_y @ a) / s2
        gradient = np.empty(vector.size)
        gradient[SIGNAL] = self.rows - q * trace - (ya - q * aa)
        gradient[NOISE] = q * (trace - aa)

        # From here on only the lower triangle of `matrix` means anything; dsymm reads no other.
        dsyr(-1.0 / s2, a, lower=1, a=matrix, overwrite_a=1)
        np.multiply(matrix, weight, out=matrix)
        products = dsymm(1.0, matrix, self._active.scaled_and_one, lower=1)
        z = self._active.scaled
        spread = products[:, -1:] * z
        spread -= products[:, :-1]
        gradient[LENGTHSCALES] = np.einsum("ij,ij->j", z, spread)
        if not np.isfinite(gradient).all():
            raise NumericalError("the gradient is not finite: the targets or inputs are too large; scale them")
        return ValueAndGradient(nats, gradient, jitter)

    def _solve(self, theta: Array, weight: Array | None) -> tuple[float, Array, float, float, float]:
        """(L, a, s2, q, jitter); leaves the Cholesky factor in the first buffer and w in `weight`."""
        s2 = math.exp(2.0 * theta[SIGNAL])
        q = math.exp(2.0 * (theta[NOISE] - theta[SIGNAL]))
        self._active.rescale(np.exp(theta[LENGTHSCALES]))
        matrix, _ = self._workspace.squares(self.rows)
        jitter = factorise_covariance(self._kernel, self._active, self._active_X, matrix, weight, q, self._jitter_limit)
        a, _ = dpotrs(matrix, self._active_y, lower=1)
        half_log_determinant = float(np.log(diagonal(matrix)).sum())
        with np.errstate(over="ignore", invalid="ignore"):
            fit = float(self._active_y @ a) / s2
        nats = 0.5 * fit + half_log_determinant + 0.5 * self.rows * (2.0 * theta[SIGNAL] + _LOG_2_PI)
        if not math.isfinite(nats):
            raise NumericalError("the likelihood is not finite: the targets are too large; scale them")
        return float(nats), a, s2, q, jitter

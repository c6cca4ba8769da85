"""Negative log marginal likelihood of one client's data, with its exact gradient and Fisher information.

Rasmussen & Williams (2006), eq. (2.30) p. 19 and eq. (5.9) p. 114. With K = s2 (C + q I), s2 the signal variance and q
the ratio of noise to signal variance, everything is done on C + q I in two n x n buffers:

    a = (C + q I)^-1 y
    L = y'a / (2 s2) + log|C + q I| / 2 + n log(2 pi s2) / 2
    dL / d log noise sd = q (tr (C + q I)^-1 - a'a / s2)
    dL / d p            = sum_ij R_ij d C_ij / d p / 2,  R = (C + q I)^-1 - a a' / s2       (p of the kernel)

The derivatives by the log signal sds sum up to n - q tr (C + q I)^-1 - (y'a - q a'a) / s2, since
tr K^-1 K_f = n - noise tr K^-1. For length-scales the sum over ij is one symmetric product for all features
(`fgpr.gp.kernels.scaled_inputs`). Few rows under one kernel of the distance take a faster way: `fgpr.gp.packed`.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import ddot, dsyr, dtrsv

from fgpr.errors import DataError, NumericalError
from fgpr.gp.arrays import Array, diagonal, inputs, targets
from fgpr.gp.cholesky import JITTER_LIMIT, check_jitter_limit, factorise_covariance
from fgpr.gp.hyperparameters import LOG_LIMIT, NOISE, check_theta_of, logs
from fgpr.gp.information import fisher_information
from fgpr.gp.inverse import invert_from_factor
from fgpr.gp.kernels.kernel import Kernel, Placed
from fgpr.gp.memory import MEMORY_LIMIT, check_memory, matrix_bytes, reserved, squares
from fgpr.gp.packed import PackedLikelihood, worth_packing

_LOG_2_PI = math.log(2.0 * math.pi)
_DOUBLE = np.dtype(np.float64)


class Value(NamedTuple):
    """A negative log marginal likelihood.

    Attributes:
        nats: the total over all rows, constants included.
        jitter: what had to be added to the diagonal, in units of the signal variance; 0 almost always.
    """

    nats: float
    jitter: float


class ValueAndGradient(NamedTuple):
    """A negative log marginal likelihood with its gradient with respect to theta, of shape (L,)."""

    nats: float
    gradient: Array
    jitter: float


class Curvature(NamedTuple):
    """A negative log marginal likelihood with its gradient and Fisher information, of shapes (L,) and (L, L)."""

    nats: float
    gradient: Array
    information: Array
    jitter: float


class Workspace:
    """The two square buffers; one workspace may serve any number of likelihoods that are evaluated in turn."""

    def __init__(self, limit: int = MEMORY_LIMIT) -> None:
        self.limit = limit
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
            check_memory(rows, matrices=2, limit=self.limit)
            self._flat = (np.empty(size), np.empty(size))
        first, second = (flat[:size].reshape((rows, rows), order="F") for flat in self._flat)
        self._squares = (first, second)
        return self._squares


class Likelihood:
    """The negative log marginal likelihood of y given X as a function of theta. Not for use by two threads.

    Args:
        kernel: of the function.
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
        # Copies: what is kept of them between steps has to stay theirs.
        self._X = inputs(X).copy()
        self._y = targets(y, len(self._X)).copy()
        if self._y.size == 0:
            raise DataError("no rows: a likelihood needs at least one")
        # Asked at every step, so asked once.
        self._length, self._footprint = kernel.size(self._X.shape[1]), kernel.footprint
        self._profile = kernel.profile
        self._workspace = workspace or Workspace()
        check_jitter_limit(jitter_limit)
        self._jitter_limit = jitter_limit
        self.restrict(None)

    @property
    def rows(self) -> int:
        """Number of rows that count at present."""
        return int(self._active_y.size)

    @property
    def features(self) -> int:
        """Number of inputs a row."""
        return int(self._active_X.shape[1])

    @property
    def kernel(self) -> Kernel:
        """The one that it was made with."""
        return self._kernel

    def restrict(self, rows: npt.NDArray[np.intp] | None, once: bool = False) -> None:
        """From now on evaluate on a mini-batch.

        Args:
            rows: counted from 0; None for all of them.
            once: another batch follows after one step, so that what pays over several is not prepared.

        Raises:
            DataError: no rows, or one that there is not.
        """
        if rows is None:
            self._active_X, self._active_y = self._X, self._y
        else:
            try:
                active_X, active_y = self._X[rows], self._y[rows]
            except IndexError as error:
                raise DataError(f"a mini-batch of rows that there are not: {error}") from error
            if active_y.size == 0:
                raise DataError("no rows: a mini-batch needs at least one")
            self._active_X, self._active_y = active_X, active_y
        self._placed: Placed | None = None
        self._packed: PackedLikelihood | None = None
        # What the general way would refuse is not done in another way.
        general = matrix_bytes(self.rows, self._footprint.gradient)
        allowed = self._profile is not None and general <= self._workspace.limit
        self._packs = allowed and worth_packing(self.rows, self.features, once)

    def value(self, theta: npt.ArrayLike) -> Value:
        """The negative log marginal likelihood at theta, in nats.

        Raises:
            DataError: the matrices would take more memory than the workspace, or the machine, allows.
            EncodingError: theta has another length.
            NumericalError: not positive definite, or not finite; names the cause.
        """
        vector = self._checked(theta)
        try:
            if (packed := self._few()) is not None and (nats := packed.value(vector)) is not None:
                return Value(nats, 0.0)
        except MemoryError as error:
            raise squares(self.rows, self._footprint.value).refused from error
        with reserved(squares(self.rows, self._footprint.value), self._workspace.limit):
            nats, _, _, jitter = self._solve(vector, gradient=False)
        return Value(nats, jitter)

    def value_and_gradient(self, theta: npt.ArrayLike) -> ValueAndGradient:
        """The negative log marginal likelihood at theta and its gradient.

        Raises:
            DataError: the matrices would take more memory than the workspace, or the machine, allows.
            EncodingError: theta has another length.
            NumericalError: not positive definite, or not finite; names the cause.
        """
        vector = self._checked(theta)
        try:
            if (packed := self._few()) is not None and (known := packed.value_and_gradient(vector)) is not None:
                return ValueAndGradient(*known, 0.0)
        except MemoryError as error:
            raise squares(self.rows, self._footprint.gradient).refused from error
        with reserved(squares(self.rows, self._footprint.gradient), self._workspace.limit):
            nats, a, q, jitter = self._solve(vector, gradient=True)
            return ValueAndGradient(nats, self._gradient(vector.size, a, q), jitter)

    def information(self, theta: npt.ArrayLike) -> Array:
        """The Fisher information at theta alone, of shape (L, L); raises as `curvature`."""
        vector = check_theta_of(self._kernel, theta, self.features)
        with reserved(squares(self.rows, self._footprint.information + vector.size), self._workspace.limit):
            _, _, q, _ = self._solve(vector, gradient=False)
            matrix, _ = self._workspace.squares(self.rows)
            return fisher_information(self._active, matrix, q, vector.size)

    def curvature(self, theta: npt.ArrayLike) -> Curvature:
        """The negative log marginal likelihood at theta, its gradient and the Fisher information, from one factor.

        Raises:
            DataError: the matrices, one for each entry of theta among them, would take more memory than the
                workspace, or the machine, allows.
            EncodingError: theta has another length.
            NumericalError: as `value_and_gradient`.
        """
        vector = self._checked(theta)
        with reserved(squares(self.rows, self._footprint.information + vector.size), self._workspace.limit):
            nats, a, q, jitter = self._solve(vector, gradient=True)
            matrix, _ = self._workspace.squares(self.rows)
            information = fisher_information(self._active, matrix, q, vector.size)
            return Curvature(nats, self._gradient(vector.size, a, q), information, jitter)

    @property
    def _active(self) -> Placed:
        """The kernel on the rows that count; few rows seldom need it, and placing takes longer than a step of them."""
        if self._placed is None:
            self._placed = self._kernel.place(self._active_X)
        return self._placed

    def _few(self) -> PackedLikelihood | None:
        """The way of few rows, where it is the faster one."""
        if self._packs and self._packed is None and self._profile is not None:
            self._packed = PackedLikelihood(self._profile, self._active_X, self._active_y)
        return self._packed

    def _checked(self, theta: npt.ArrayLike) -> Array:
        """Theta as an array of the right length, each entry within its limit; raises as `check_theta_of`."""
        # The norm is a bound on each entry, NaN included, in one call.
        vector = theta if type(theta) is np.ndarray and theta.dtype is _DOUBLE else logs(theta)
        if vector.shape != (self._length,) or not ddot(vector, vector) <= LOG_LIMIT * LOG_LIMIT:
            return check_theta_of(self._kernel, theta, self.features)
        return vector

    def _gradient(self, size: int, a: Array, q: float) -> Array:
        """The gradient, from the Cholesky factor in the first buffer, which is overwritten."""
        matrix, weight = self._workspace.squares(self.rows)
        s2 = self._active.signal_variance
        invert_from_factor(matrix)
        trace = float(np.add.reduce(diagonal(matrix)))
        aa = float(ddot(a, a)) / s2
        ya = float(ddot(self._active_y, a)) / s2
        gradient = np.empty(size)
        gradient[NOISE] = q * (trace - aa)
        # From here on only the lower triangle of `matrix` means anything.
        dsyr(-1.0 / s2, a, lower=1, a=matrix, overwrite_a=1)
        self._active.gradient(matrix, weight, self.rows - q * trace - (ya - q * aa), gradient)
        if not math.isfinite(np.add.reduce(gradient)):
            raise NumericalError("the gradient is not finite: the targets or inputs are too large; scale them")
        return gradient

    def _solve(self, theta: Array, gradient: bool) -> tuple[float, Array, float, float]:
        """(L, a, q, jitter); leaves the Cholesky factor in the first buffer and the kernel's weight in the second."""
        self._active.rescale(theta)
        s2 = self._active.signal_variance
        q = math.exp(2.0 * theta[NOISE]) / s2
        matrix, weight = self._workspace.squares(self.rows)
        kept = weight if gradient else None
        jitter = factorise_covariance(self._active, self._active_X, matrix, kept, q, self._jitter_limit)
        # Two solutions with one right-hand side each: LAPACK's potrs is made for many, and takes twice the time.
        half = dtrsv(matrix, self._active_y, lower=1)
        a = dtrsv(matrix, half, lower=1, trans=1, overwrite_x=1)
        half_log_determinant = float(np.add.reduce(np.log(diagonal(matrix))))
        # BLAS overflows without a warning, unlike `@` and `np.dot`.
        fit = float(ddot(self._active_y, a)) / s2
        nats = 0.5 * fit + half_log_determinant + 0.5 * self.rows * (math.log(s2) + _LOG_2_PI)
        if not math.isfinite(nats):
            raise NumericalError("the likelihood is not finite: the targets are too large; scale them")
        return float(nats), a, q, jitter

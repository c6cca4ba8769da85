"""The likelihoods of many small problems of one size at once: stacked arrays in place of a loop.

For a few rows a likelihood costs calls, not arithmetic, and B problems in one NumPy call cost little more than one.
Above `STACKED_ROWS` rows, where LAPACK in a loop is faster, and for kernels that are no single function of the
distance, this loops over `fgpr.gp.likelihood`; results agree to rounding. Formulas are those of that module.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fgpr.errors import DataError, NumericalError
from fgpr.gp.arrays import Array, floats, inputs, targets
from fgpr.gp.hyperparameters import LENGTHSCALES, NOISE, SIGNAL, check_theta_of, logs
from fgpr.gp.kernels.kernel import Kernel
from fgpr.gp.kernels.radial import Profile
from fgpr.gp.kernels.scaled_inputs import PAIRS_LIMIT
from fgpr.gp.likelihood import Likelihood, Workspace
from fgpr.gp.memory import DOUBLE_BYTES, MEMORY_LIMIT, Need, matrix_bytes, reserved
from fgpr.gp.packed import worth_packing

STACKED_ROWS = 16
"""Most rows of a problem that are worth stacking."""

_STACKED = 6
"""Matrices a problem beside its squared differences: correlations, weight, factor, inverse, and two on the way."""

_OBJECTS = 3_500
"""Bytes of the objects of a kernel of a problem in a loop."""

_ROWS_PLACED = 6
"""How many times a kernel on inputs holds their rows."""

_EPSILON = float(np.finfo(np.float64).eps)


class StackedValues(NamedTuple):
    """B negative log marginal likelihoods with their gradients.

    Attributes:
        nats: shape (B,).
        gradient: shape (B, L).
        jitter: the largest that a problem needed, in units of the signal variance.
    """

    nats: Array
    gradient: Array
    jitter: float


class StackedLikelihood:
    """Negative log marginal likelihoods of B problems of n rows each, at one theta or at one each.

    Args:
        kernel: of the function, the same for all.
        X: inputs, shape (B, n, d).
        y: targets, shape (B, n).
        memory_limit: bytes that the matrices of all problems may take.

    Raises:
        DataError: shapes that do not fit, no problems or rows, a value that is not finite (names the problem), or more
            memory than the limit.
    """

    def __init__(self, kernel: Kernel, X: npt.ArrayLike, y: npt.ArrayLike, memory_limit: int = MEMORY_LIMIT) -> None:
        self._X, self._y = _stack(X, 3, "inputs"), _stack(y, 2, "targets")
        if self._X.shape[:2] != self._y.shape:
            raise DataError(f"inputs of shape {self._X.shape} with targets of shape {self._y.shape}")
        for number, (some_inputs, some_targets) in enumerate(zip(self._X, self._y, strict=True), start=1):
            try:
                inputs(some_inputs), targets(some_targets)
            except DataError as error:
                raise DataError(f"problem {number}: {error}") from error
        self._kernel = kernel
        self._count, self._rows, self._features = self._X.shape
        self._profile = kernel.profile if self._rows <= STACKED_ROWS else None
        self._limit = memory_limit
        self._loop: list[Likelihood] = []
        if self._profile is None:
            workspace = Workspace(memory_limit)
            with reserved(self._need, memory_limit):
                self._loop = [self._one(number, workspace) for number in range(self._count)]
        else:
            with reserved(self._need, memory_limit), np.errstate(over="ignore"):
                # One difference a pair of rows and feature; the scale follows at each theta.
                self._squares = self._X[:, :, np.newaxis, :] - self._X[:, np.newaxis, :, :]
                np.square(self._squares, out=self._squares)

    @property
    def is_stacked(self) -> bool:
        """The problems are computed at once, not in a loop."""
        return self._profile is not None

    def value_and_gradient(self, theta: npt.ArrayLike) -> StackedValues:
        """All values and gradients.

        Args:
            theta: shape (L,), or (B, L) for one a problem.

        Raises:
            DataError: another number of thetas, or the machine has not got the memory.
            EncodingError: theta has another length.
            NumericalError: not positive definite, or not finite; names the problem and the cause.
        """
        given = logs(theta)
        if given.ndim == 2 and len(given) != self._count:
            raise DataError(f"{len(given)} thetas for {self._count} problems")
        each = [check_theta_of(self._kernel, one, self._features) for one in (given if given.ndim == 2 else [given])]
        thetas = np.broadcast_to(np.stack(each), (self._count, each[0].size))
        if self._profile is None:
            return self._by_loop(thetas)
        try:
            with reserved(self._need, self._limit):
                stacked = self._at_once(self._profile, thetas)
        except np.linalg.LinAlgError:
            stacked = None
        # Where one problem is singular, or nearly, the loop adds its jitter or says what is wrong.
        return self._by_loop(thetas) if stacked is None else stacked

    def _one(self, number: int, workspace: Workspace) -> Likelihood:
        return Likelihood(self._kernel, self._X[number], self._y[number], workspace)

    @property
    def _need(self) -> Need:
        """Of all problems: what is kept of them, and when they are stacked what a call takes beside it."""
        square, d, parts = matrix_bytes(self._rows), self._features, len(self._kernel.expression.components)
        row = DOUBLE_BYTES * (d + 2)
        each = self._rows * row
        if self._profile is not None:
            each += (2 * d + _STACKED) * square + 3 * row
        elif self._kernel.profile is not None and worth_packing(self._rows, d, once=False):
            each += (d // 2 + 1) * square + _OBJECTS
        else:
            kept = self._kernel.footprint.gradient - 3
            kept += parts * d if self._rows**2 * d <= PAIRS_LIMIT else 0
            each += kept * square + parts * (_ROWS_PLACED * self._rows * row + _OBJECTS)
        return Need(f"{self._count} problems need", f"matrices of {self._rows} x {self._rows}", self._count * each)

    def _by_loop(self, thetas: Array) -> StackedValues:
        nats, gradient, jitter = np.empty(self._count), np.empty(thetas.shape), 0.0
        workspace = Workspace(self._limit)
        for number, theta in enumerate(thetas):
            # Stacked problems come here seldom, and are not kept.
            likelihood = self._loop[number] if self._loop else self._one(number, workspace)
            try:
                one = likelihood.value_and_gradient(theta)
            except NumericalError as error:
                raise NumericalError(f"problem {number + 1}: {error}") from error
            nats[number], gradient[number], jitter = one.nats, one.gradient, max(jitter, one.jitter)
        return StackedValues(nats, gradient, jitter)

    def _at_once(self, profile: Profile, thetas: Array) -> StackedValues | None:
        n = self._rows
        s2 = np.exp(2.0 * thetas[:, SIGNAL])
        q = np.exp(2.0 * (thetas[:, NOISE] - thetas[:, SIGNAL]))
        with np.errstate(all="ignore"):
            scaled = self._squares * np.exp(-2.0 * thetas[:, np.newaxis, np.newaxis, LENGTHSCALES])
            matrix = profile.factor * scaled.sum(axis=-1)
            if not np.isfinite(matrix).all():
                return None
            weight = np.empty_like(matrix)
            profile.correlate(matrix, weight)
            diagonal = np.einsum("bii->bi", matrix)
            diagonal[...] = 1.0 + q[:, np.newaxis]
            factor = np.linalg.cholesky(matrix)
            pivots = np.einsum("bii->bi", factor)
            if not (np.square(pivots) > 4.0 * _EPSILON * n).all():
                return None
            inverse = np.linalg.inv(matrix)
            a = np.einsum("bij,bj->bi", inverse, self._y)
            ya = np.einsum("bi,bi->b", self._y, a) / s2
            aa = np.einsum("bi,bi->b", a, a) / s2
            trace = np.einsum("bii->b", inverse)
            nats = 0.5 * ya + np.log(pivots).sum(axis=1) + 0.5 * n * np.log(2.0 * math.pi * s2)
            gradient = np.empty(thetas.shape)
            gradient[:, SIGNAL] = n - q * trace - (ya - q * aa)
            gradient[:, NOISE] = q * (trace - aa)
            inverse -= a[:, :, np.newaxis] * (a / s2[:, np.newaxis])[:, np.newaxis, :]
            inverse *= weight
            gradient[:, LENGTHSCALES] = 0.5 * profile.slope * np.einsum("bij,bijd->bd", inverse, scaled)
        if not (np.isfinite(nats).all() and np.isfinite(gradient).all()):
            return None
        return StackedValues(nats, gradient, 0.0)


def _stack(values: npt.ArrayLike, dimensions: int, what: str) -> Array:
    array = floats(values, what).copy()
    if array.ndim != dimensions or array.size == 0:
        raise DataError(f"{what} have shape {array.shape}: expected {dimensions} dimensions, none of them empty")
    return array

"""A prior conditioned on local data: predictive mean, latent variance and observation variance.

Rasmussen & Williams (2006), eq. (2.25) and (2.26) p. 17, Algorithm 2.1 p. 19. The latent variance is that of the
function without noise; the observation variance is that of a new measurement, latent plus noise. Coverage of measured
values is a matter of the observation variance.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrs

from fgpr.errors import DataError, NumericalError
from fgpr.gp.arrays import MEMORY_LIMIT, Array, check_memory, inputs, targets
from fgpr.gp.cholesky import JITTER_LIMIT, factorise_covariance
from fgpr.gp.hyperparameters import LENGTHSCALES, NOISE, SIGNAL, check_theta
from fgpr.gp.kernels.kernel import Kernel
from fgpr.gp.kernels.scaled_inputs import ScaledInputs

_BLOCK = 2048
"""New inputs handled at once, so that a long list needs no more memory than a short one."""

_VARIANCE_ROUNDING = 64
"""In units of rows times the rounding of an entry. Nearly singular matrices without noise reach about 10."""


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """Predictions at m inputs, in the units of the targets that were conditioned on.

    Attributes:
        mean: shape (m,).
        latent_variance: of the function without noise, shape (m,), from 0 to the signal variance.
        noise_variance: of one new measurement; None where conditioning had one variance a row and none was given for
            new inputs.
    """

    mean: Array
    latent_variance: Array
    noise_variance: float | None

    @property
    def latent_sd(self) -> Array:
        """Standard deviation of the function without noise."""
        return np.sqrt(self.latent_variance)

    @property
    def observation_variance(self) -> Array:
        """Variance of a new measurement.

        Raises:
            DataError: the noise at new inputs is not known.
        """
        if self.noise_variance is None:
            raise DataError("the noise at new inputs is unknown: rows had a variance each; give noise to predict")
        return self.latent_variance + self.noise_variance

    @property
    def observation_sd(self) -> Array:
        """Standard deviation of a new measurement; raises as `observation_variance`."""
        return np.sqrt(self.observation_variance)


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """A conditioned Gaussian process; made by `condition`.

    Attributes:
        rows: number of rows it is conditioned on; with 0 it is the prior.
        jitter: what had to be added to the diagonal, in units of the signal variance; 0 almost always.
        signal_variance: of the function, in squared units of the target.
        noise_variance: of a measurement, or None where each row had its own.
    """

    rows: int
    jitter: float
    signal_variance: float
    noise_variance: float | None
    _kernel: Kernel
    _lengthscales: Array
    _centre: Array
    _inputs: ScaledInputs
    _factor: Array
    _solution: Array

    @property
    def prior_only(self) -> bool:
        """True where there were no rows to learn from."""
        return self.rows == 0

    def predict(self, X: npt.ArrayLike, noise: float | None = None) -> Prediction:
        """Mean and variances at new inputs.

        Args:
            X: shape (m, d), in the features' units.
            noise: variance of the noise at the new inputs, where it differs from the model's.

        Raises:
            DataError: another number of features, a value that is not finite, or a negative noise.
            NumericalError: a variance below 0 by more than rounding, or inputs that overflow.
        """
        new = inputs(X, self._lengthscales.size)
        if noise is not None and not (math.isfinite(noise) and noise >= 0):
            raise DataError(f"a noise variance is {noise}: expected a finite number, at least 0")
        mean = np.zeros(len(new))
        share = np.ones(len(new))
        if not self.prior_only:
            for start in range(0, len(new), _BLOCK):
                block = slice(start, start + _BLOCK)
                mean[block], share[block] = self._block(new[block])
        variance = self.signal_variance * np.maximum(share, 0.0)
        return Prediction(mean, variance, self.noise_variance if noise is None else noise)

    def _block(self, new: Array) -> tuple[Array, Array]:
        """Means, and latent variances as shares of the signal variance, not yet clamped."""
        there = ScaledInputs(new, self._centre)
        there.rescale(self._lengthscales)
        cross = self._kernel.cross(self._inputs, there)
        mean = cross.T @ self._solution
        reduced = dtrsm(1.0, self._factor, cross, lower=1, overwrite_b=1)
        share = 1.0 - np.einsum("ij,ij->j", reduced, reduced)
        tolerance = _VARIANCE_ROUNDING * self.rows * max(self._inputs.rounding, there.rounding)
        if not (np.isfinite(mean).all() and share.min(initial=0.0) >= -tolerance):
            raise NumericalError(
                f"a latent variance is {share.min():.3g} of the signal variance, below 0 by more than rounding"
                f" ({tolerance:.1g}), or a mean is not finite: raise the noise or scale the data"
            )
        return mean, share


def condition(
    kernel: Kernel,
    theta: npt.ArrayLike,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    noise: float | npt.ArrayLike | None = None,
    jitter_limit: float = JITTER_LIMIT,
    memory_limit: int = MEMORY_LIMIT,
) -> Posterior:
    """Condition a zero-mean Gaussian process on data.

    Args:
        kernel: the correlation.
        theta: hyper-parameters in the wire order, shape (d + 2,).
        X: inputs, shape (n, d), in the features' units; n = 0 gives the prior.
        y: targets, shape (n,), scaled as the model says.
        noise: variance (not standard deviation) of the noise: None for theta's, one number, or one a row; 0 is
            allowed.
        jitter_limit: see `fgpr.gp.cholesky`; 0 refuses a singular matrix instead of mending it.
        memory_limit: bytes that the matrix may take.

    Raises:
        EncodingError: theta has another length than the inputs ask for.
        DataError: shapes that do not fit, a value that is not finite, a negative noise, or too many rows.
        NumericalError: not positive definite within the jitter limit (names duplicate rows), or not finite.
    """
    vector = check_theta(theta)
    features = vector.size - 2
    given = np.asarray(X)
    rows = inputs(given.reshape(0, features) if given.size == 0 else X)
    vector = check_theta(vector, rows.shape[1])
    values = targets(y, len(rows))
    check_memory(len(rows), limit=memory_limit)
    signal_variance = math.exp(2.0 * vector[SIGNAL])
    variances, shared = _noise(noise, math.exp(2.0 * vector[NOISE]), len(rows))

    centre = rows.mean(axis=0) if len(rows) else np.zeros(features)
    scaled = ScaledInputs(rows, centre)
    lengthscales = np.exp(vector[LENGTHSCALES])
    scaled.rescale(lengthscales)
    matrix = np.empty((len(rows), len(rows)), order="F")
    jitter = 0.0
    solution = np.empty(0)
    if len(rows):
        ratio = variances / signal_variance
        jitter = factorise_covariance(kernel, scaled, rows, matrix, None, ratio, jitter_limit)
        solution, _ = dpotrs(matrix, values, lower=1)
    return Posterior(len(rows), jitter, signal_variance, shared, kernel, lengthscales, centre, scaled, matrix, solution)


def _noise(noise: float | npt.ArrayLike | None, model: float, rows: int) -> tuple[float | Array, float | None]:
    """Variances to condition with, and the one for new inputs."""
    given = np.asarray(model if noise is None else noise, dtype=np.float64)
    if not (np.isfinite(given).all() and (given >= 0).all()):
        raise DataError("a noise variance is negative or not finite")
    if given.ndim == 0:
        return float(given), float(given)
    if given.shape != (rows,):
        raise DataError(f"{given.size} noise variances for {rows} rows: give one number, or one a row")
    return given, None

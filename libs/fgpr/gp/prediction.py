"""What a posterior says about new inputs: mean, two bands, and where asked the joint distribution with its samples.

The latent variance is that of the function without noise; the observation variance is that of a new measurement,
latent plus noise. Coverage of measured values is a matter of the observation variance.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from fgpr.errors import DataError, NumericalError
from fgpr.gp.arrays import Array, floats
from fgpr.gp.memory import DOUBLE_BYTES, MEMORY_LIMIT, Need, reserved

Method = Literal["exact", "nearest neighbours", "prior only"]
"""How a prediction was made: from all rows at once, from the rows nearest to each new input, or from no row."""

_VARIANCE_ROUNDING = 64
"""In units of rows times the rounding of an entry. Nearly singular matrices without noise reach about 10."""

_EIGENVALUE_ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""In units of the signal variance times the number of inputs."""

_EIGENVALUE_MATRICES = 4
"""What LAPACK's solver takes: the vectors, and three for its work."""


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """Predictions at m inputs, in the units of the targets that were conditioned on.

    Attributes:
        mean: shape (m,).
        latent_variance: of the function without noise, shape (m,), from 0 to its variance there before any row (the
            signal variance, for kernels that are the same everywhere).
        noise_variance: of one new measurement, one number or one an input; None where conditioning had one variance a
            row and none was given for new inputs.
        method: how it was made.
        jitter: the largest that a factor needed, in units of the signal variance; 0 almost always.
    """

    mean: Array
    latent_variance: Array
    noise_variance: float | Array | None
    method: Method
    jitter: float

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
        return self.latent_variance + known_noise(self.noise_variance)

    @property
    def observation_sd(self) -> Array:
        """Standard deviation of a new measurement; raises as `observation_variance`."""
        return np.sqrt(self.observation_variance)


@dataclass(frozen=True, slots=True, eq=False)
class JointPrediction:
    """The joint distribution of the function at m inputs, in the units of the targets.

    Attributes:
        mean: shape (m,).
        latent_covariance: of the function without noise, symmetric, shape (m, m).
        noise_variance: as in `Prediction`.
        signal_variance: of the function before any row, which rounding is measured by.
        memory_limit: bytes that drawing samples may take.
    """

    mean: Array
    latent_covariance: Array
    noise_variance: float | Array | None
    signal_variance: float
    memory_limit: int = MEMORY_LIMIT

    @property
    def observation_covariance(self) -> Array:
        """Covariance of new measurements, whose noises are independent; raises as `Prediction.observation_variance`."""
        covariance = self.latent_covariance.copy()
        np.fill_diagonal(covariance, covariance.diagonal() + known_noise(self.noise_variance))
        return covariance

    def sample(self, count: int, rng: np.random.Generator, observation: bool = False) -> Array:
        """Draw whole functions at the m inputs: shape (count, m).

        The square root of the covariance is taken by its eigenvalues, so that inputs close to each other, whose
        covariance is singular, need no jitter.

        Args:
            count: how many, at least 0.
            rng: the same state gives the same draws.
            observation: add the noise of a new measurement to each value.

        Raises:
            DataError: a negative count, `observation` without a known noise, or more memory than the limit.
            NumericalError: the covariance has an eigenvalue below 0 by more than rounding.
        """
        if count < 0:
            raise DataError(f"{count} samples were asked for: expected 0 or more")
        noise = np.sqrt(known_noise(self.noise_variance)) if observation else 0.0
        with reserved(self._need_of_samples(count), self.memory_limit):
            drawn: Array = rng.standard_normal((count, self.mean.size)) @ self._root().T
            drawn += self.mean
            if observation:
                drawn += noise * rng.standard_normal(drawn.shape)
        return drawn

    def _root(self) -> Array:
        """A square root R of the covariance, R R'."""
        values, vectors = np.linalg.eigh(self.latent_covariance)
        tolerance = _EIGENVALUE_ROUNDING * max(1, values.size) * self.signal_variance
        if values.min(initial=0.0) < -tolerance:
            raise NumericalError(
                f"the joint covariance has the eigenvalue {values.min():.3g}, below 0 by more than rounding"
                f" ({tolerance:.1g}): raise the noise or scale the data"
            )
        vectors *= np.sqrt(np.maximum(values, 0.0))
        root: Array = vectors
        return root

    def _need_of_samples(self, count: int) -> Need:
        m = self.mean.size
        purpose = f"{_EIGENVALUE_MATRICES} matrices of {m} x {m} and 3 of {count} x {m}"
        return Need(f"samples at {m} inputs need", purpose, DOUBLE_BYTES * m * (_EIGENVALUE_MATRICES * m + 3 * count))


def known_noise(noise: float | Array | None) -> float | Array:
    """The noise variance at new inputs.

    Raises:
        DataError: it is not known.
    """
    if noise is None:
        raise DataError("the noise at new inputs is unknown: rows had a variance each; give noise to predict")
    return noise


def noise_for(count: int, noise: float | npt.ArrayLike | None, default: float | None) -> float | Array | None:
    """The noise variance at `count` new inputs: the one given, else the model's.

    Raises:
        DataError: negative, not finite, or neither one number nor one an input.
    """
    if noise is None:
        return default
    return noise_variances(noise, count, "new inputs")


def noise_variances(noise: float | npt.ArrayLike, count: int, what: str) -> float | Array:
    """Noise variances as one number, or as an array of shape (count,) of their own that is read-only.

    Raises:
        DataError: not numbers, negative, not finite, or neither one number nor `count` of them.
    """
    given = floats(noise, "noise variances").copy()
    if not (np.isfinite(given).all() and (given >= 0).all()):
        raise DataError(f"a noise variance is {given.min(initial=np.inf)}: negative or not finite")
    if given.ndim == 0:
        return float(given)
    if given.shape != (count,):
        raise DataError(f"{given.size} noise variances for {count} {what}: give one number, or one for each")
    given.flags.writeable = False
    return given


def check_shares(mean: Array, share: Array, rows: int, rounding: float) -> None:
    """Refuse what cannot be rounding.

    Args:
        mean: predicted means.
        share: latent variances over the signal variance, not yet clamped.
        rows: how many rows each is conditioned on.
        rounding: bound on the rounding of a correlation.

    Raises:
        NumericalError: a variance below 0 by more than rounding, or a mean that is not finite.
    """
    tolerance = _VARIANCE_ROUNDING * rows * rounding
    if not (np.isfinite(mean).all() and share.min(initial=0.0) >= -tolerance):
        raise NumericalError(
            f"a latent variance is {share.min():.3g} of the signal variance, below 0 by more than rounding"
            f" ({tolerance:.1g}), or a mean is not finite: raise the noise or scale the data"
        )


def scaled_shares(share: Array, signal_variance: float) -> Array:
    """Variances or covariances in squared units of the target, in place of their shares of the signal variance.

    Raises:
        NumericalError: they overflow, as they may far from 0 under a linear kernel.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        share *= signal_variance
    if not np.isfinite(share).all():
        raise NumericalError("a variance of the function overflows: scale the inputs, or lower the signal sd")
    return share

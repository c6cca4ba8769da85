"""A posterior that estimates a device's own mean and scale from its rows, as the prior's correlations weigh them.

A served theta speaks of a target of mean 0 and standard deviation 1 over a device's whole life. A device with few rows
knows neither number: the mean and standard deviation of five rows, or of the first twenty, are poor guesses, and bands
that rest on them are too narrow. Here both are unknown: y ~ N(m 1, s^2 K), K the covariance with noise at theta, with
the flat density on m and 1 / s on s. Then, with R = K^-1:

    m = 1'R y / 1'R 1                                     s^2 = (y - m 1)' R (y - m 1) / (n - 1)
    mean(x) = m + k(x)' R (y - m 1)
    var(x)  = s^2 (c(x, x) - k' R k + (1 - k' R 1)^2 / 1'R 1)

and what is said of x is a Student t with n - 1 degrees of freedom. Source: generalised least squares with one constant
basis function, Rasmussen & Williams (2006), eq. (2.41) and (2.42) p. 28; with the unknown scale, A. O'Hagan (1978),
Curve fitting and optimal design for prediction, J. R. Stat. Soc. B 40, 1-42.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fgpr.errors import DataError
from fgpr.gp.arrays import Array, inputs
from fgpr.gp.kernels.kernel import Kernel
from fgpr.gp.memory import MEMORY_LIMIT
from fgpr.gp.posterior import Posterior, condition


@dataclass(frozen=True, slots=True, eq=False)
class StudentPrediction:
    """What is said of m inputs, in the units of the targets: Student t, not normal.

    Attributes:
        mean: shape (m,).
        latent_scale: scale of the t of the function without noise, shape (m,); near its standard deviation where the
            degrees of freedom are many.
        observation_scale: that of a new measurement, shape (m,).
        degrees: of freedom.
    """

    mean: Array
    latent_scale: Array
    observation_scale: Array
    degrees: int

    def quantile(self, level: float) -> float:
        """Of the standard t, at a level between 0 and 1: a band is mean -+ this times a scale."""
        # Where it is used: `scipy.stats` would take half a second to load.
        from scipy.special import stdtrit

        return float(stdtrit(self.degrees, level))


@dataclass(frozen=True, slots=True, eq=False)
class OwnScalePosterior:
    """Made by `condition_own_scale`.

    Attributes:
        base: of the rows under mean 0 and scale 1.
        ones: the same of targets that are all 1, which says how far rows determine a constant.
        mean: m.
        scale: s, in units of theta's.
    """

    base: Posterior
    ones: Posterior
    mean: float
    scale: float

    @property
    def degrees(self) -> int:
        """Degrees of freedom, n - 1."""
        return self.base.rows - 1

    def predict(self, X: npt.ArrayLike) -> StudentPrediction:
        """Mean and scales at new inputs, shape (m, d).

        Raises:
            DataError, NumericalError: as `Posterior.predict`.
        """
        there = self.base.predict(X)
        left = 1.0 - self.ones.predict(X).mean
        latent = there.latent_variance + left * left * self._of_mean
        observation = latent + self.base.covariance.noise_variance
        mean = there.mean + self.mean * left
        return StudentPrediction(mean, self.scale * np.sqrt(latent), self.scale * np.sqrt(observation), self.degrees)

    def sample(self, X: npt.ArrayLike, count: int, rng: np.random.Generator) -> Array:
        """Draw whole functions without noise: shape (count, m); each has a mean and a scale of its own.

        Raises:
            DataError, NumericalError: as `Posterior.predict_jointly` and `JointPrediction.sample`.
        """
        new = inputs(X, self.base.covariance.features)
        left = 1.0 - self.ones.predict(new).mean
        drawn = self.base.predict_jointly(new).sample(count, rng)
        centre = self.base.predict(new).mean
        drawn -= centre
        drawn += np.outer(rng.standard_normal(count) * math.sqrt(self._of_mean), left)
        drawn *= (self.scale * np.sqrt(self.degrees / rng.chisquare(self.degrees, count)))[:, np.newaxis]
        drawn += centre + self.mean * left
        return drawn

    @property
    def _of_mean(self) -> float:
        """Variance of m at scale 1: 1 / 1'R 1."""
        return self.base.signal_variance / float(self.ones.solution.sum())


def condition_own_scale(
    kernel: Kernel, theta: npt.ArrayLike, X: npt.ArrayLike, y: npt.ArrayLike, memory_limit: int = MEMORY_LIMIT
) -> OwnScalePosterior:
    """Condition on data whose mean and scale are unknown.

    Args:
        kernel: the correlation.
        theta: hyper-parameters in the wire order, shape (L,), for targets of scale 1.
        X: inputs, shape (n, d).
        y: targets in any unit, shape (n,), n at least 2, not all equal.
        memory_limit: as in `condition`, for each of two matrices.

    Raises:
        DataError: as `condition`; also fewer than two rows, or targets that are all equal.
        EncodingError, NumericalError: as `condition`.
    """
    base = condition(kernel, theta, X, y, memory_limit=memory_limit)
    values = base.observations.y
    if values.size < 2 or values.max() == values.min():
        raise DataError(f"{values.size} rows with {np.unique(values).size} targets: a scale needs two that differ")
    ones = condition(kernel, theta, X, np.ones(values.size), memory_limit=memory_limit)
    # The solutions are for the covariance over the signal variance.
    mean = float(base.solution.sum() / ones.solution.sum())
    residual = values - mean
    square = float(residual @ (base.solution - mean * ones.solution)) / (values.size - 1) / base.signal_variance
    return OwnScalePosterior(base, ones, mean, math.sqrt(max(square, 0.0)))

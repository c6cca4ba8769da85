"""Leave-one-out residuals: how well each row is predicted from all others, without factoring anything anew.

Rasmussen & Williams (2006), eq. (5.10) to (5.12) p. 117: with K the covariance of the rows with noise,
mu_i = y_i - [K^-1 y]_i / [K^-1]_ii and the variance of the left-out measurement is 1 / [K^-1]_ii.
"""

import math
from dataclasses import dataclass

import numpy as np

from fgpr.errors import DataError
from fgpr.gp.arrays import Array
from fgpr.gp.inverse import invert_triangle
from fgpr.gp.memory import reserved, squares
from fgpr.gp.posterior import Posterior


@dataclass(frozen=True, slots=True, eq=False)
class LeaveOneOut:
    """Each of n rows as predicted from the other n - 1, in the units of the targets.

    Attributes:
        targets: what was measured, shape (n,).
        mean: what the others say, shape (n,).
        observation_variance: of the left-out measurement, its noise included, shape (n,).
    """

    targets: Array
    mean: Array
    observation_variance: Array

    @property
    def residuals(self) -> Array:
        """Measured minus predicted."""
        return self.targets - self.mean

    @property
    def standardised(self) -> Array:
        """Residuals over their standard deviation: about standard normal where the model fits."""
        return self.residuals / np.sqrt(self.observation_variance)

    @property
    def log_density(self) -> Array:
        """Log predictive density of each measurement, in nats; its sum is eq. (5.11)."""
        return -0.5 * (self.standardised**2 + np.log(2.0 * math.pi * self.observation_variance))

    @property
    def score(self) -> float:
        """Mean log density, nats a point: the larger, the better the kernel and theta.

        Unlike the marginal likelihood it does not assume that the model is true (Rasmussen & Williams 2006, p. 117).
        """
        return float(self.log_density.mean())


def leave_one_out(posterior: Posterior) -> LeaveOneOut:
    """The leave-one-out predictions of a posterior's own rows, at its theta; O(n^3), a third of a new factor's time.

    Raises:
        DataError: no rows, or no memory for two more matrices.
    """
    if posterior.prior_only:
        raise DataError("no rows: there is nothing to leave out")
    with reserved(squares(posterior.rows, matrices=2), posterior.memory_limit):
        inverse = posterior.factor.copy(order="F")
        invert_triangle(inverse)
    # The upper triangle of a factor keeps old entries.
    precision = np.array([inverse[row:, row] @ inverse[row:, row] for row in range(posterior.rows)])
    targets = posterior.observations.y
    return LeaveOneOut(targets, targets - posterior.solution / precision, posterior.signal_variance / precision)

"""What every posterior is: a covariance at its theta, and the rows it is conditioned on."""

from dataclasses import dataclass

import numpy.typing as npt

from fgpr.gp.covariance import Covariance
from fgpr.gp.observations import Observations


@dataclass(frozen=True, slots=True, eq=False)
class Conditioned:
    """The part that posteriors share.

    Attributes:
        covariance: the kernel at the theta it was conditioned with.
        observations: the rows it is conditioned on.
    """

    covariance: Covariance
    observations: Observations

    @property
    def rows(self) -> int:
        """Number of rows it is conditioned on; with 0 it is the prior."""
        return self.observations.count

    @property
    def prior_only(self) -> bool:
        """True where there were no rows to learn from."""
        return self.rows == 0

    @property
    def signal_variance(self) -> float:
        """Of the function, in squared units of the target."""
        return self.covariance.signal_variance

    @property
    def noise_variance(self) -> float | None:
        """Of a measurement, or None where each row had its own."""
        return self.observations.noise_at_new_inputs

    def more_rows(self, X: npt.ArrayLike, y: npt.ArrayLike, noise: float | npt.ArrayLike | None) -> Observations:
        """Further rows, with the noise of those that are there unless they bring their own.

        Raises:
            DataError: shapes that do not fit, or a value that is not finite.
        """
        model_noise = self.covariance.noise_variance if self.noise_variance is None else self.noise_variance
        return Observations.of(X, y, noise, self.covariance.features, model_noise)

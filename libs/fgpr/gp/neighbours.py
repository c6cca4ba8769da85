"""A posterior for tens of thousands of rows: each new input is conditioned on the k rows that it depends on most.

The rows are taken that each alone would lower the variance at the new input most, by c^2 / (c_ii + q_i) with c the
correlation and q_i the row's noise over the signal variance. For one stationary kernel and equal noise these are the
nearest in units of the length-scales; the rule is right for any other kernel too. Given those rows the prediction is
exact; what is left out can only widen the band. It takes O(n + k^3) time an input and no n x n matrix; where k reaches
n the result is the exact posterior's. Source: R. B. Gramacy and D. W. Apley (2015), Local Gaussian process
approximation for large computer experiments, J. Comput. Graph. Stat. 24, 561-578, whose simplest design this is.
Inputs near each other may have other neighbours, so there is no joint distribution here, and the mean has steps, small
against its band.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dtrsv
from scipy.linalg.lapack import dpotrs

from fgpr.errors import NumericalError
from fgpr.gp.arrays import Array, inputs
from fgpr.gp.cholesky import explain, factorise
from fgpr.gp.conditioned import Conditioned
from fgpr.gp.kernels.kernel import Placed
from fgpr.gp.memory import DOUBLE_BYTES
from fgpr.gp.prediction import Method, Prediction, check_shares, noise_for

DEFAULT_NEIGHBOURS = 256

_BLOCK_BYTES = 64_000_000
"""For the correlations of all rows with the new inputs that are handled at once."""


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourPosterior(Conditioned):
    """A Gaussian process conditioned row by row where it is asked; made by `fgpr.gp.conditioning`.

    Attributes:
        neighbours: k, how many rows each new input is conditioned on.
        jitter_limit: the largest jitter allowed, in units of the signal variance.
    """

    neighbours: int
    jitter_limit: float

    @property
    def method(self) -> Method:
        """How it predicts."""
        return "prior only" if self.prior_only else "nearest neighbours"

    def append(
        self, X: npt.ArrayLike, y: npt.ArrayLike, noise: float | npt.ArrayLike | None = None
    ) -> "NeighbourPosterior":
        """The posterior with more rows; arguments and errors are those of `Posterior.append`."""
        rows = self.observations.joined(self.more_rows(X, y, noise))
        return NeighbourPosterior(self.covariance, rows, self.neighbours, self.jitter_limit)

    def predict(self, X: npt.ArrayLike, noise: float | npt.ArrayLike | None = None) -> Prediction:
        """Mean and variances at new inputs; arguments and errors are those of `Posterior.predict`."""
        new = inputs(X, self.covariance.features)
        variance = noise_for(len(new), noise, self.noise_variance)
        mean = np.zeros(len(new))
        share = self.covariance.shares(new, self.observations.centre)
        jitter = 0.0
        k = min(self.neighbours, self.rows)
        if not self.prior_only:
            centre = self.observations.centre
            here = self.covariance.scaled(self.observations.X, centre)
            variances = here.diagonal + self.observations.noise / self.signal_variance
            matrix = np.empty((k, k), order="F")
            size = max(1, _BLOCK_BYTES // (DOUBLE_BYTES * self.rows))
            for start in range(0, len(new), size):
                there = self.covariance.scaled(new[start : start + size], centre)
                cross = here.cross(there)
                merits = cross * cross
                if np.ndim(variances):
                    merits /= np.reshape(variances, (-1, 1))
                for column in range(there.rows):
                    nearest = _largest(merits[:, column], k)
                    place = start + column
                    mean[place], told, needed = self._condition(nearest, cross[nearest, column], centre, matrix, place)
                    share[place] -= told
                    jitter = max(jitter, needed)
                check_shares(mean, share, k, max(here.rounding, there.rounding))
        np.maximum(share, 0.0, out=share)
        return Prediction(mean, self.signal_variance * share, variance, self.method, jitter)

    def _condition(
        self, nearest: npt.NDArray[np.intp], correlation: Array, centre: Array, matrix: Array, place: int
    ) -> tuple[float, float, float]:
        """(mean, what the rows take off the share of the signal variance, jitter) at one new input."""
        rows = self.observations
        scaled: Placed = self.covariance.scaled(rows.X[nearest], centre)
        ratio = rows.noise_of(nearest) / self.signal_variance
        try:
            jitter = factorise(
                lambda: scaled.fill(matrix, None),
                matrix,
                ratio,
                scaled.rounding,
                self.jitter_limit,
            )
        except NumericalError as error:
            raise NumericalError(f"new input {place + 1}: {explain(error, rows.X)}") from error
        solution, _ = dpotrs(matrix, rows.y[nearest], lower=1)
        reduced = dtrsv(matrix, correlation, lower=1)
        return float(correlation @ solution), float(reduced @ reduced), jitter


def _largest(values: Array, count: int) -> npt.NDArray[np.intp]:
    """Places of the `count` largest values, rising."""
    if count == values.size:
        return np.arange(count)
    return np.sort(np.argpartition(values, values.size - count)[values.size - count :])

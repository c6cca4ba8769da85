"""A posterior for tens of thousands of rows: each new input is conditioned on the k rows that it depends on most.

The rows are taken that each alone would lower the variance at the new input most, by c^2 / (c_ii + q_i) with c the
correlation and q_i the row's noise over the signal variance. For one stationary kernel and equal noise these are the
nearest in units of the length-scales; the rule is right for any other kernel too. Rows of equal inputs count as one,
with the mean of their targets and the noise of that mean, which changes no posterior: k copies of one input would
otherwise leave nothing of its surroundings. Given those rows the prediction is exact; what is left out can only widen
the band. It takes O(n + k^3) time an input and no n x n matrix; where k reaches n the result is the exact posterior's.
Source: R. B. Gramacy and D. W. Apley (2015), Local Gaussian process approximation for large computer experiments, J.
Comput. Graph. Stat. 24, 561-578, whose simplest design this is. Inputs near each other may have other neighbours, so
there is no joint distribution here, and the mean has steps, small against its band.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dtrsv
from scipy.linalg.lapack import dpotrs

from fgpr.errors import NumericalError
from fgpr.gp.arrays import Array, inputs
from fgpr.gp.cholesky import explain, factorise
from fgpr.gp.conditioned import Conditioned
from fgpr.gp.kernels.kernel import Placed
from fgpr.gp.memory import DOUBLE_BYTES, Need, matrix_bytes, reserved
from fgpr.gp.observations import Observations
from fgpr.gp.prediction import Method, Prediction, check_shares, noise_for, scaled_shares

DEFAULT_NEIGHBOURS = 256

MAX_NEIGHBOURS = 16_384
"""More would be more than the exact posterior takes by default."""

_BLOCK_BYTES = 64_000_000
"""For the correlations of all rows with the new inputs that are handled at once."""


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourPosterior(Conditioned):
    """A Gaussian process conditioned row by row where it is asked; made by `fgpr.gp.conditioning`.

    Attributes:
        neighbours: k, how many rows each new input is conditioned on; equal inputs count once.
        jitter_limit: the largest jitter allowed, in units of the signal variance.
        memory_limit: bytes that the matrices of a prediction may take.

    Raises:
        DataError: the k x k matrix would take more memory than the limit.
    """

    neighbours: int
    jitter_limit: float
    memory_limit: int
    _distinct: Observations = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_distinct", self.observations.merged())
        self._need.check(self.memory_limit)

    @property
    def method(self) -> Method:
        """How it predicts."""
        return "prior only" if self.prior_only else "nearest neighbours"

    def append(
        self, X: npt.ArrayLike, y: npt.ArrayLike, noise: float | npt.ArrayLike | None = None
    ) -> "NeighbourPosterior":
        """The posterior with more rows; arguments and errors are those of `Posterior.append`."""
        rows = self.observations.joined(self.more_rows(X, y, noise))
        return NeighbourPosterior(self.covariance, rows, self.neighbours, self.jitter_limit, self.memory_limit)

    def predict(self, X: npt.ArrayLike, noise: float | npt.ArrayLike | None = None) -> Prediction:
        """Mean and variances at new inputs; arguments and errors are those of `Posterior.predict`."""
        new = inputs(X, self.covariance.features)
        variance = noise_for(len(new), noise, self.noise_variance)
        with reserved(self._need):
            mean, share, jitter = self._predict(new)
        latent = scaled_shares(np.maximum(share, 0.0, out=share), self.signal_variance)
        return Prediction(mean, latent, variance, self.method, jitter)

    def _predict(self, new: Array) -> tuple[Array, Array, float]:
        """(means, shares of the signal variance that are not yet clamped, the largest jitter)."""
        rows, k = self._distinct, self._count
        mean, share, jitter = np.zeros(len(new)), np.empty(len(new)), 0.0
        centre = rows.centre
        here = self.covariance.scaled(rows.X, centre)
        variances = np.broadcast_to(here.diagonal + rows.noise / self.signal_variance, rows.count)[:, np.newaxis]
        matrix = np.empty((k, k), order="F")
        at_once = self.covariance.kernel.footprint.cross + 1
        size = max(1, min(_BLOCK_BYTES, self.memory_limit) // (DOUBLE_BYTES * max(1, rows.count) * at_once))
        for start in range(0, len(new), size):
            block = slice(start, start + size)
            there = self.covariance.scaled(new[block], centre)
            share[block] = there.diagonal
            if self.prior_only:
                continue
            cross = here.cross(there)
            # A row of no variance has no covariance either, and takes nothing off.
            merits = np.divide(cross, variances, out=np.zeros_like(cross), where=variances > 0.0)
            merits *= cross
            for column in range(there.rows):
                nearest = _largest(merits[:, column], k)
                place = start + column
                mean[place], told, needed = self._condition(nearest, cross[nearest, column], centre, matrix, place)
                share[place] -= told
                jitter = max(jitter, needed)
            check_shares(mean[block], share[block], k, max(here.rounding, there.rounding))
        return mean, share, jitter

    @property
    def _count(self) -> int:
        return min(self.neighbours, self._distinct.count)

    @property
    def _need(self) -> Need:
        k, times = self._count, self.covariance.kernel.footprint.fill
        return Need(f"{k} neighbours need", f"{times} matrices of {k} x {k}", matrix_bytes(k, times))

    def _condition(
        self, nearest: npt.NDArray[np.intp], correlation: Array, centre: Array, matrix: Array, place: int
    ) -> tuple[float, float, float]:
        """(mean, what the rows take off the share of the signal variance, jitter) at one new input."""
        rows = self._distinct
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
            raise NumericalError(f"new input {place + 1}: {explain(error, self.observations.X)}") from error
        solution, _ = dpotrs(matrix, rows.y[nearest], lower=1)
        reduced = dtrsv(matrix, correlation, lower=1)
        return float(correlation @ solution), float(reduced @ reduced), jitter


def _largest(values: Array, count: int) -> npt.NDArray[np.intp]:
    """Places of the `count` largest values, rising."""
    if count == values.size:
        return np.arange(count)
    return np.sort(np.argpartition(values, values.size - count)[values.size - count :])

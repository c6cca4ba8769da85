"""The exact posterior: a prior conditioned on all rows of the local data at once.

Rasmussen & Williams (2006), eq. (2.25) and (2.26) p. 17, Algorithm 2.1 p. 19. It takes 8 n^2 bytes and O(n^3) time;
`fgpr.gp.conditioning` chooses between it and a posterior for more rows than that.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dsyrk, dtrsm
from scipy.linalg.lapack import dpotrs

from fgpr.errors import NumericalError
from fgpr.gp.arrays import Array, diagonal, floats, inputs
from fgpr.gp.cholesky import JITTER_LIMIT, check_jitter_limit, check_span, explain, factorise
from fgpr.gp.conditioned import Conditioned
from fgpr.gp.covariance import Covariance
from fgpr.gp.kernels.kernel import Kernel, Placed
from fgpr.gp.kernels.panels import mirror
from fgpr.gp.memory import DOUBLE_BYTES, MEMORY_LIMIT, Need, reserved, squares
from fgpr.gp.observations import Observations, centre_of
from fgpr.gp.prediction import JointPrediction, Method, Prediction, check_shares, noise_for, scaled_shares

_BLOCK = 2048
_BLOCK_BYTES = 64_000_000
"""New inputs handled at once, and bytes of their correlations: a long list needs no more memory than a short one."""


@dataclass(frozen=True, slots=True, eq=False)
class Posterior(Conditioned):
    """A conditioned Gaussian process; made by `condition`. Safe for several threads: nothing in it changes.

    Attributes:
        blocks: how many rows came at a time: the first by `condition`, each further one by `append`.
        jitter: what had to be added to the diagonal, in units of the signal variance; 0 almost always.
        jitter_limit: the largest that was allowed.
        memory_limit: bytes that the matrices of one computation may take, this posterior's own not counted.
        centre: of the scaled inputs, shape (d,).
        factor: Cholesky factor of the rows' covariance over the signal variance, in its lower triangle; shape (n, n).
        solution: that matrix's inverse times the targets, shape (n,).
    """

    blocks: tuple[int, ...]
    jitter: float
    jitter_limit: float
    memory_limit: int
    centre: Array
    factor: Array
    solution: Array
    _inputs: Placed

    def __post_init__(self) -> None:
        self._inputs.settle()
        for array in (self.centre, self.factor, self.solution):
            array.flags.writeable = False

    @property
    def method(self) -> Method:
        """How it predicts."""
        return "prior only" if self.prior_only else "exact"

    def predict(self, X: npt.ArrayLike, noise: float | npt.ArrayLike | None = None) -> Prediction:
        """Mean and variances at new inputs.

        Args:
            X: shape (m, d), in the features' units.
            noise: variance of the noise at the new inputs, where it differs from the model's: one number or shape (m,).

        Raises:
            DataError: another number of features, a value that is not finite, or a noise that is no variance.
            NumericalError: a variance below 0 by more than rounding, or inputs that overflow.
        """
        new = inputs(X, self.covariance.features)
        variance = noise_for(len(new), noise, self.noise_variance)
        mean, share = np.zeros(len(new)), np.empty(len(new))
        with reserved(self._need_of_prediction(len(new))):
            size = self._at_once(len(new))
            for start in range(0, len(new), size):
                block = slice(start, start + size)
                there = self.covariance.scaled(new[block], self.centre)
                if self.prior_only:
                    share[block] = there.diagonal
                else:
                    mean[block], reduced = self._reduce(there)
                    share[block] = self._shares(mean[block], reduced, there)
        latent = scaled_shares(np.maximum(share, 0.0, out=share), self.signal_variance)
        return Prediction(mean, latent, variance, self.method, self.jitter)

    def predict_jointly(self, X: npt.ArrayLike, noise: float | npt.ArrayLike | None = None) -> JointPrediction:
        """Mean and joint covariance at m new inputs, to draw samples from.

        Args:
            X: as in `predict`.
            noise: as in `predict`.

        Raises:
            DataError: as `predict`; also where the covariances would take more memory than the limit.
            NumericalError: as `predict`.
        """
        new = inputs(X, self.covariance.features)
        variance = noise_for(len(new), noise, self.noise_variance)
        with reserved(self._need_of_joint(len(new)), self.memory_limit):
            # Far from the rows, the new inputs' distances from each other would be lost beside those from the rows.
            alone = self.covariance.scaled(new, centre_of(new))
            check_span(alone)
            share = alone.cross(alone)
            diagonal(share)[:] = alone.diagonal
            there = self.covariance.scaled(new, self.centre)
            mean = np.zeros(len(new))
            if not self.prior_only and len(new):
                mean, reduced = self._reduce(there)
                shares = self._shares(mean, reduced, there)
                share = dsyrk(-1.0, reduced, beta=1.0, c=share, trans=1, lower=1, overwrite_c=1)
                diagonal(share)[:] = np.maximum(shares, 0.0)
            mirror(share)
            covariance = scaled_shares(share, self.signal_variance)
        return JointPrediction(mean, covariance, variance, self.signal_variance, self.memory_limit)

    def append(self, X: npt.ArrayLike, y: npt.ArrayLike, noise: float | npt.ArrayLike | None = None) -> "Posterior":
        """The posterior with m more rows, in O(n^2 m) time: the factor grows, nothing is factored anew.

        With C + Q = L L' the factor of more rows is [[L, 0], [B', M]] with L B = c(X, new) and
        M M' = c(new, new) + Q_new - B' B.

        Args:
            X: inputs of the new rows, shape (m, d).
            y: targets, shape (m,).
            noise: variance of the new rows' noise, as in `condition`.

        Returns:
            Another posterior; this one stays as it is.

        Raises:
            DataError: as `condition`.
            NumericalError: as `condition`.
        """
        more = self.more_rows(X, y, noise)
        if more.count == 0:
            return self
        if self.prior_only:
            return condition_rows(self.covariance, more, self.jitter_limit, self.memory_limit)
        n, rows = self.rows, self.observations.joined(more)
        centre = rows.centre
        with reserved(_need_of_append(n, more.count), self.memory_limit):
            whole, there = self.covariance.scaled(rows.X, centre), self.covariance.scaled(more.X, centre)
            check_span(whole)
            cross = self.covariance.scaled(rows.X[:n], centre).cross(there)
            reduced = dtrsm(1.0, self.factor, cross, lower=1, overwrite_b=1)
            corner = np.empty((more.count, more.count), order="F")

            def fill() -> None:
                self.covariance.fill(more.X, centre, corner)
                dsyrk(-1.0, reduced, beta=1.0, c=corner, trans=1, lower=1, overwrite_c=1)

            ratio = more.noise / self.signal_variance + self.jitter
            try:
                extra = factorise(fill, corner, ratio, whole.rounding, self.jitter_limit)
            except NumericalError as error:
                raise explain(error, rows.X) from error
            factor = np.empty((rows.count, rows.count), order="F")
            factor[:n, :n], factor[n:, :n], factor[n:, n:] = self.factor, reduced.T, corner
            solution, _ = dpotrs(factor, rows.y, lower=1)
        return Posterior(
            self.covariance,
            rows,
            (*self.blocks, more.count),
            self.jitter + extra,
            self.jitter_limit,
            self.memory_limit,
            centre,
            factor,
            solution,
            whole,
        )

    def _at_once(self, count: int) -> int:
        """How many of so many new inputs are handled at once."""
        return max(1, min(count, _BLOCK, _BLOCK_BYTES // (DOUBLE_BYTES * max(1, self.rows))))

    def _need_of_prediction(self, count: int) -> Need:
        at_once = self._at_once(count)
        size = DOUBLE_BYTES * at_once * self.rows * self.covariance.kernel.footprint.cross
        return Need("a prediction needs", f"covariances of {at_once} new inputs with {self.rows} rows", size)

    def _need_of_joint(self, count: int) -> Need:
        """Their covariances and their correlations with the rows; a sum or product takes each more than once."""
        times, old = self.covariance.kernel.footprint.cross, count * self.rows
        numbers = max(times * count * count, count * count + times * old)
        purpose = f"covariances of {count} new inputs with each other and with {self.rows} rows"
        return Need("a joint prediction needs", purpose, DOUBLE_BYTES * numbers)

    def _reduce(self, there: Placed) -> tuple[Array, Array]:
        """Means at new inputs, and L^-1 times their correlations with the rows, of shape (n, m)."""
        cross = self._inputs.cross(there)
        mean = cross.T @ self.solution
        return mean, dtrsm(1.0, self.factor, cross, lower=1, overwrite_b=1)

    def _shares(self, mean: Array, reduced: Array, there: Placed) -> Array:
        """Latent variances as shares of the signal variance, checked but not yet clamped."""
        share: Array = there.diagonal - np.einsum("ij,ij->j", reduced, reduced)
        check_shares(mean, share, self.rows, max(self._inputs.rounding, there.rounding))
        return share


def condition(
    kernel: Kernel,
    theta: npt.ArrayLike,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    noise: float | npt.ArrayLike | None = None,
    jitter_limit: float = JITTER_LIMIT,
    memory_limit: int = MEMORY_LIMIT,
) -> Posterior:
    """Condition a zero-mean Gaussian process on data, exactly.

    Args:
        kernel: the correlation.
        theta: hyper-parameters in the wire order, shape (L,).
        X: inputs, shape (n, d), in the features' units; n = 0 gives the prior, and [] one of as many features as
            theta is for (of a kernel whose theta does not say, 1).
        y: targets, shape (n,), scaled as the model says.
        noise: variance (not standard deviation) of the noise: None for theta's, one number, or one a row; 0 is
            allowed.
        jitter_limit: see `fgpr.gp.cholesky`, at most 1; 0 refuses a singular matrix instead of mending it.
        memory_limit: bytes that the matrix may take; and later each computation of the posterior beside it.

    Raises:
        EncodingError: theta has another length than the inputs ask for.
        DataError: shapes that do not fit, a value that is not finite, a negative noise, a jitter limit that is none, or
            too many rows (names rows, bytes and limit).
        NumericalError: not positive definite within the jitter limit (names duplicate rows), or not finite.
    """
    covariance, rows = prepare(kernel, theta, X, y, noise, jitter_limit)
    return condition_rows(covariance, rows, jitter_limit, memory_limit)


def prepare(
    kernel: Kernel,
    theta: npt.ArrayLike,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    noise: float | npt.ArrayLike | None,
    jitter_limit: float,
) -> tuple[Covariance, Observations]:
    """The arguments of `condition`, checked; raises as it does."""
    check_jitter_limit(jitter_limit)
    given = floats(X, "inputs")
    # Without rows their shape may still say how many features there are; a flat empty sequence leaves it to theta.
    known = given.ndim == 2 and given.shape[1] > 0
    features = given.shape[1] if known else inputs(given).shape[1] if given.size else None
    covariance = Covariance.at(kernel, theta, features)
    return covariance, Observations.of(given, y, noise, covariance.features, covariance.noise_variance)


def condition_rows(covariance: Covariance, rows: Observations, jitter_limit: float, memory_limit: int) -> Posterior:
    """`condition` for arguments that are checked."""
    centre = rows.centre
    factor, jitter, solution = np.empty((0, 0), order="F"), 0.0, np.empty(0)
    with reserved(squares(rows.count), memory_limit):
        scaled = covariance.scaled(rows.X, centre)
        if rows.count:
            factor, jitter = covariance.factor(rows.X, centre, rows.noise, jitter_limit)
            solution, _ = dpotrs(factor, rows.y, lower=1)
    return Posterior(
        covariance, rows, (rows.count,), jitter, jitter_limit, memory_limit, centre, factor, solution, scaled
    )


def _need_of_append(rows: int, more: int) -> Need:
    """The new factor, and its new part on the way."""
    total = rows + more
    purpose = f"a matrix of {total} x {total} and {more} of its rows"
    return Need(f"{total} rows need", purpose, DOUBLE_BYTES * total * (total + more))

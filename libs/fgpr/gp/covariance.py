"""A kernel at one theta: what the posteriors know of hyper-parameters."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fgpr.errors import NumericalError
from fgpr.gp.arrays import Array, diagonal
from fgpr.gp.cholesky import check_span, explain, factorise
from fgpr.gp.hyperparameters import NOISE, check_theta_of, logs
from fgpr.gp.kernels.kernel import Kernel, Placed

_BLOCK = 64
"""Columns of a sum or product that are filled at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Covariance:
    """Signal variance times a correlation, plus noise; made by `Covariance.at`.

    Attributes:
        kernel: of the function.
        theta: in the wire order; a read-only copy.
        features: the number of inputs a row, d.
        signal_variance: of the function, in squared units of the target: the sum over the kernel's terms.
        noise_variance: of a measurement, in the same units.
    """

    kernel: Kernel
    theta: Array
    features: int
    signal_variance: float
    noise_variance: float

    @classmethod
    def at(cls, kernel: Kernel, theta: npt.ArrayLike, features: int | None = None) -> "Covariance":
        """The covariance at theta.

        Raises:
            EncodingError: theta has another length than d features ask for.
            NumericalError: an entry is not finite or too large to be a logarithm.
        """
        known = kernel.features(logs(theta).size) if features is None else features
        vector = check_theta_of(kernel, theta, known).copy()
        vector.flags.writeable = False
        placed = kernel.place(np.zeros((0, known)), np.zeros(known))
        placed.rescale(vector)
        return cls(kernel, vector, known, placed.signal_variance, math.exp(2.0 * vector[NOISE]))

    def scaled(self, X: Array, centre: Array) -> Placed:
        """Inputs over their length-scales; those of two sets fit together where their centre is the same.

        Raises:
            NumericalError: they overflow.
        """
        placed = self.kernel.place(X, centre)
        placed.rescale(self.theta)
        return placed

    def factor(self, X: Array, centre: Array, noise: float | Array, limit: float) -> tuple[Array, float]:
        """Cholesky factor of the covariance over the signal variance, and the jitter that it needed.

        Nothing else of the size of the matrix is held.

        Args:
            X: inputs, shape (n, d).
            centre: of the scaled inputs, shape (d,).
            noise: variance, one number or one a row.
            limit: largest jitter, see `fgpr.gp.cholesky`.

        Returns:
            The factor in the lower triangle of an array of shape (n, n) in Fortran order, and the jitter in units of
            the signal variance.

        Raises:
            NumericalError: as `fgpr.gp.cholesky.factorise_covariance`.
        """
        matrix = np.empty((len(X), len(X)), order="F")
        scaled = self.scaled(X, centre)
        check_span(scaled)
        ratio = noise / self.signal_variance
        try:
            return matrix, factorise(lambda: self.fill(X, centre, matrix), matrix, ratio, scaled.rounding, limit)
        except NumericalError as error:
            raise explain(error, X) from error

    def fill(self, X: Array, centre: Array, matrix: Array) -> None:
        """The lower triangle of the correlations of the inputs, with the diagonal; a sum or product in blocks.

        Args:
            X: inputs, shape (n, d).
            centre: of the scaled inputs, shape (d,).
            matrix: gets them; shape (n, n), Fortran order.

        Raises:
            NumericalError: the scaled inputs overflow.
        """
        if self.kernel.footprint.fill == 1:
            self.scaled(X, centre).fill(matrix, None)
            return
        for start in range(0, len(X), _BLOCK):
            columns = slice(start, start + _BLOCK)
            left, right = self.scaled(X[start:], centre), self.scaled(X[columns], centre)
            matrix[start:, columns] = left.cross(right)
        diagonal(matrix)[:] = self.scaled(X, centre).diagonal

"""Expected (Fisher) information of a zero-mean Gaussian about its hyper-parameters.

I_ij = tr(K^-1 dK_i K^-1 dK_j) / 2, the expectation of the Hessian of the negative log marginal likelihood and the
covariance of its gradient (Mardia & Marshall 1984, Biometrika 71, eq. 2.6; Rasmussen & Williams 2006, eq. (5.9) gives
the gradient it is the covariance of). With C + q I = L L' and B_i = L^-1 (dK_i / s2) L^-T it is a Gram matrix,
sum_ab B_i,ab B_j,ab / 2, and so positive semi-definite in floating point too. It does not depend on the targets.
"""

import numpy as np
from scipy.linalg.blas import dtrsm

from fgpr.errors import NumericalError
from fgpr.gp.arrays import Array, diagonal
from fgpr.gp.hyperparameters import NOISE
from fgpr.gp.kernels.kernel import Placed


def fisher_information(placed: Placed, factor: Array, ratio: float, size: int) -> Array:
    """The information matrix with respect to theta, of shape (L, L).

    Args:
        placed: the kernel on n inputs, at its theta.
        factor: Cholesky factor of C + ratio I in the lower triangle, shape (n, n), Fortran order; left as it is.
        ratio: noise variance over signal variance.
        size: L, the length of theta.

    Raises:
        NumericalError: an entry is not finite.
    """
    n = placed.rows
    whitened = np.empty((size, n * n))
    noise = _square(whitened[NOISE], n)
    noise[...] = 0.0
    diagonal(noise)[:] = 2.0 * ratio
    _whiten(factor, noise)
    for place, derivative in placed.derivatives():
        there = _square(whitened[place], n)
        there[...] = derivative
        # Or it would be held while the next one is made.
        del derivative
        _whiten(factor, there)
    with np.errstate(over="ignore", invalid="ignore"):
        information: Array = 0.5 * (whitened @ whitened.T)
    if not np.isfinite(information).all():
        raise NumericalError("the Fisher information is not finite: the noise is too small for these inputs; raise it")
    return information


def _square(flat: Array, rows: int) -> Array:
    """A view of shape (n, n) in Fortran order, which BLAS works on in place."""
    return flat.reshape((rows, rows), order="F")


def _whiten(factor: Array, derivative: Array) -> None:
    dtrsm(1.0, factor, derivative, lower=1, overwrite_b=1)
    dtrsm(1.0, factor, derivative, side=1, lower=1, trans_a=1, overwrite_b=1)

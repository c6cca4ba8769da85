"""Inverses from a Cholesky factor, by halves.

OpenBLAS inverts a triangle at a fraction of the speed of its matrix products. Cutting the factor into halves,

    [[A, 0], [B, C]]^-1 = [[A^-1, 0], [-C^-1 B A^-1, C^-1]]

leaves little but products, and takes half to four fifths of the time of potri from 100 to 2,000 rows. N. J. Higham,
*Accuracy and Stability of Numerical Algorithms* (2002), sec. 14.2: such block methods are as stable as the plain ones.
"""

from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dlauum, dpotri, dtrtri

from fgpr.gp.arrays import Array

_PLAIN = 64
"""Up to so many rows LAPACK alone is faster."""


def invert_triangle(factor: Array) -> None:
    """Replace L by its inverse, in place.

    Args:
        factor: L in the lower triangle, its diagonal above 0; shape (n, n), Fortran order. The upper triangle may hold
            anything, and does afterwards.
    """
    rows = factor.shape[0]
    if rows <= _PLAIN:
        dtrtri(factor, lower=1, overwrite_c=1)
        return
    half = rows // 2
    # Copies, because LAPACK is called in place on contiguous arrays alone; they are small beside the products. Made as
    # late as can be, they never are more than three quarters of the matrix.
    first = factor[:half, :half].copy(order="F")
    invert_triangle(first)
    last = factor[half:, half:].copy(order="F")
    invert_triangle(last)
    below = factor[half:, :half].copy(order="F")
    dtrmm(-1.0, last, below, lower=1, overwrite_b=1)
    dtrmm(1.0, first, below, side=1, lower=1, overwrite_b=1)
    factor[:half, :half] = first
    factor[half:, :half] = below
    factor[half:, half:] = last


def invert_from_factor(factor: Array) -> None:
    """Replace L by the lower triangle of the inverse of L L', in place; arguments as in `invert_triangle`."""
    if factor.shape[0] <= _PLAIN:
        dpotri(factor, lower=1, overwrite_c=1)
        return
    invert_triangle(factor)
    dlauum(factor, lower=1, overwrite_c=1)

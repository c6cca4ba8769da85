"""Lower triangles of square matrices as flat arrays, in LAPACK's rectangular full packed format.

The format stores n (n + 1) / 2 numbers as one rectangle, so that LAPACK works on its halves by matrix products and
needs no square (F. G. Gustavson, J. Wasniewski, J. J. Dongarra and J. Langou 2010, Rectangular full packed format for
Cholesky's algorithm, ACM Transactions on Mathematical Software 37, 18). What is done to every entry alike does not ask
in which order they are.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dtrttf

from fgpr.gp.arrays import Array

Places = npt.NDArray[np.intp]


class Layout(NamedTuple):
    """Which entry is where; read-only arrays.

    Attributes:
        first: row of each packed entry, counted from 0, shape (n (n + 1) / 2,).
        second: its column; the same row or one before.
        diagonal: places of the diagonal's entries in a packed array, shape (n,); in no particular order.
        square: for each entry of the whole symmetric matrix its place in a packed array, shape (n^2,).
    """

    first: Places
    second: Places
    diagonal: Places
    square: Places


@lru_cache(maxsize=16)
def layout(rows: int) -> Layout:
    """The layout of a triangle of n rows; kept, because mini-batches of one size ask for it at each draw."""
    numbers = np.arange(float(rows * rows)).reshape((rows, rows), order="F")
    second, first = np.divmod(pack(numbers).astype(np.intp), rows)
    square = np.empty((rows, rows), dtype=np.intp)
    square[first, second] = square[second, first] = np.arange(first.size)
    found = Layout(first, second, np.flatnonzero(first == second), square.ravel())
    for places in found:
        places.flags.writeable = False
    return found


def pack(matrix: Array) -> Array:
    """The lower triangle of a matrix of shape (n, n) in Fortran order, packed."""
    packed, _ = dtrttf(matrix, uplo="L")
    flat: Array = packed
    return flat


def unpack(packed: Array, matrix: Array) -> None:
    """The whole symmetric matrix of a packed triangle into `matrix`, of shape (n, n) in Fortran order."""
    packed.take(layout(len(matrix)).square, out=matrix.ravel("K"), mode="clip")

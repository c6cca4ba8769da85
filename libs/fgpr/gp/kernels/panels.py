"""Panels of a lower triangle: a few columns each, from the diagonal down.

A large matrix is filled panel by panel. What lies above the diagonal is left out, which is half the work, and a panel
stays in the cache while one pass after another goes over it.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fgpr.gp.arrays import Array

WORTH_IT = 256
"""From so many rows on panels pay; below, the calls cost more than the work they save."""

_COLUMNS = 64


class Panel(NamedTuple):
    """Columns start..stop - 1 of a square matrix, its rows from `start` on.

    Attributes:
        start: first column, and first row.
        stop: one past the last column.
        rows: of the panel.
    """

    start: int
    stop: int
    rows: int

    def of(self, matrix: Array) -> Array:
        """A view of the panel's part of a square matrix."""
        return matrix[self.start :, self.start : self.stop]

    def within(self, buffer: Array) -> Array:
        """A contiguous matrix of the panel's shape in Fortran order, on the memory of a flat buffer."""
        columns = self.stop - self.start
        return buffer[: self.rows * columns].reshape((self.rows, columns), order="F")


def panels(rows: int) -> Iterator[Panel]:
    """All panels of a matrix of shape (rows, rows), from the left."""
    for start in range(0, rows, _COLUMNS):
        yield Panel(start, min(start + _COLUMNS, rows), rows - start)


def buffer_for(rows: int) -> Array:
    """A flat array that holds any panel of a matrix of shape (rows, rows), with anything in it."""
    return np.empty(rows * min(_COLUMNS, rows))

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
    """All panels of a matrix of shape (rows, rows), from the left; a small matrix is one panel."""
    columns = _columns(rows)
    for start in range(0, rows, columns):
        yield Panel(start, min(start + columns, rows), rows - start)


def buffer_for(rows: int) -> Array:
    """A flat array that holds any panel of a matrix of shape (rows, rows), with anything in it."""
    return np.empty(rows * _columns(rows))


def multiply_lower(product: Array, factor: Array | float) -> None:
    """Multiply the lower triangle of a square matrix, entry by entry, in place."""
    for panel in panels(len(product)):
        part = panel.of(product)
        np.multiply(part, factor if isinstance(factor, float) else panel.of(factor), out=part)


def add_lower(total: Array, term: Array) -> None:
    """Add to the lower triangle of a square matrix in place."""
    for panel in panels(len(total)):
        part = panel.of(total)
        np.add(part, panel.of(term), out=part)


def mirror(matrix: Array) -> None:
    """Make a square matrix symmetric by its lower triangle, in place."""
    for panel in panels(len(matrix)):
        here = slice(panel.start, panel.stop)
        corner = np.tril(matrix[here, here])
        corner += np.tril(corner, -1).T
        matrix[here, here] = corner
        matrix[here, panel.stop :] = matrix[panel.stop :, here].T


def _columns(rows: int) -> int:
    return _COLUMNS if rows >= WORTH_IT else max(rows, 1)

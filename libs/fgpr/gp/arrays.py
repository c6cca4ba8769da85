"""Arrays as this package takes them: one type, and the checks of shape and finiteness at its boundary.

Rows are counted from 1 in every message, as a person counts the lines of a file.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from fgpr.errors import DataError

Array = npt.NDArray[np.float64]
"""Floats of double precision; single precision fails the gradient at low noise."""


def inputs(X: npt.ArrayLike, features: int | None = None) -> Array:
    """`X` as an array of shape (n, d).

    Args:
        X: n rows of d inputs; a flat sequence is one input a row.
        features: d, where it is known.

    Raises:
        DataError: not numbers, not two-dimensional, another d, or a value that is not finite.
    """
    array = floats(X, "inputs")
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2 or array.shape[1] == 0:
        raise DataError(f"inputs have shape {array.shape}: expected (rows, features), at least one feature")
    if features is not None and array.shape[1] != features:
        raise DataError(f"inputs have {array.shape[1]} columns, the model has {features} features")
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise DataError(f"row {row + 1}, input {column + 1} is {array[row, column]}: not a finite number")
    return array


def targets(y: npt.ArrayLike, rows: int | None = None) -> Array:
    """`y` as an array of shape (n,).

    Args:
        y: one target a row.
        rows: n, where it is known.

    Raises:
        DataError: not numbers, not one-dimensional, another n, or a value that is not finite.
    """
    array = floats(y, "targets")
    if array.ndim != 1:
        raise DataError(f"targets have shape {array.shape}: expected one number a row")
    if rows is not None and array.size != rows:
        raise DataError(f"{array.size} targets for {rows} rows of inputs")
    if not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array)))
        raise DataError(f"the target in row {row + 1} is {array[row]}: not a finite number; drop the row or mend it")
    return array


def diagonal(matrix: Array) -> Array:
    """Writable view of the diagonal of a square matrix in Fortran order."""
    return matrix.ravel("K")[:: matrix.shape[0] + 1]


def duplicate_rows(X: Array) -> list[list[int]]:
    """Groups of equal rows, each as row numbers counted from 1, in order of their first row."""
    _, group = np.unique(X, axis=0, return_inverse=True)
    members: dict[int, list[int]] = {}
    for row, label in enumerate(group.ravel().tolist(), start=1):
        members.setdefault(label, []).append(row)
    return [rows for rows in members.values() if len(rows) > 1]


def floats(values: Any, what: str) -> Array:
    """Values as an array of doubles; not copied where they are one.

    Raises:
        DataError: not real numbers, not of one size, or some of them masked.
    """
    try:
        given = np.asanyarray(values)
        if isinstance(given, np.ma.MaskedArray):
            masked = int(np.ma.getmaskarray(given).sum())
            if masked:
                raise DataError(f"{masked} {what} are masked: drop these rows or fill them")
            given = given.data
        if np.iscomplexobj(given):
            raise DataError(f"{what} are not numbers: they are complex")
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} are not numbers, or not of one size: {error}") from error

"""MATLAB files of numeric arrays, such as SARCOS: one matrix of rows, or vectors of one length.

Nothing in such a file is ever unpickled or called: only arrays of numbers are taken, and what else is in the file is
not read. The columns of SARCOS are those of S. Vijayakumar and S. Schaal (2000), "Locally Weighted Projection
Regression": positions, velocities and accelerations of seven joints, then their torques.
"""

import struct
import zlib
from pathlib import Path

import numpy as np

from client_agent.datafile import MAX_BYTES, FloatArray
from fgpr.errors import DataError

SARCOS_COLUMNS = tuple(f"{what}{joint}" for what in ("q", "qd", "qdd", "tau") for joint in range(1, 8))
"""The 28 columns of SARCOS, in the order of its files, with the names of its CSV form."""

_NUMERIC = {
    "double", "single", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "logical",
}  # fmt: skip
_DAMAGED = (
    NotImplementedError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    OSError,
    EOFError,
    OverflowError,
    zlib.error,
    struct.error,
)
_HDF5 = b"\x89HDF\r\n\x1a\n"


def read_mat(path: Path) -> dict[str, FloatArray]:
    """The columns of a MATLAB file up to version 7, each of shape (rows,).

    A matrix of 28 columns is SARCOS; the columns of another matrix M are called M1, M2 and so on; vectors keep their
    names.

    Raises:
        DataError: no such file, no array of numbers in it, arrays of several lengths, or more than `MAX_BYTES`.
    """
    try:
        with path.open("rb") as file:
            start = file.read(520)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    if _HDF5 in start or start.startswith(b"MATLAB 7.3"):
        raise DataError(f"{path}: a MATLAB file of version 7.3; save it with -v7")
    # Here, since an agent that reads other files should not wait for it.
    from scipy import io as scipy_io

    try:
        named = [(name, shape) for name, shape, kind in scipy_io.whosmat(path) if kind in _NUMERIC and len(shape) == 2]
        named = [(name, shape) for name, shape in named if 0 not in shape]
        # Before anything is unpacked: a small file may hold a matrix that does not fit the memory.
        size = sum(8 * rows * columns for _, (rows, columns) in named)
        if size > MAX_BYTES:
            raise DataError(f"{path}: arrays of {size} bytes; at most {MAX_BYTES} are read: split it by client")
        found = scipy_io.loadmat(path, variable_names=[name for name, _ in named], struct_as_record=True)
        arrays = {name: _numbers(path, name, found[name]) for name, _ in named}
    except (scipy_io.matlab.MatReadError, *_DAMAGED) as error:
        raise DataError(f"{path}: no MATLAB file that can be read: {error}") from error
    return _columns(path, arrays)


def _numbers(path: Path, name: str, array: np.ndarray) -> FloatArray:
    if array.dtype.kind not in "fiub":
        raise DataError(f"{path}: {name} holds {array.dtype}, not real numbers")
    return array.astype(np.float64)


def _columns(path: Path, arrays: dict[str, FloatArray]) -> dict[str, FloatArray]:
    matrices = {name: array for name, array in arrays.items() if min(array.shape) > 1}
    if len(matrices) == 1 and len(arrays) == 1:
        ((name, matrix),) = matrices.items()
        width = matrix.shape[1]
        names = SARCOS_COLUMNS if width == len(SARCOS_COLUMNS) else [f"{name}{place}" for place in range(1, width + 1)]
        return {column: matrix[:, place].copy() for place, column in enumerate(names)}
    if matrices or not arrays:
        told = ", ".join(f"{name} {' x '.join(map(str, array.shape))}" for name, array in arrays.items()) or "none"
        raise DataError(f"{path}: one matrix of rows, or vectors of one length, are needed; there are: {told}")
    vectors = {name: array.ravel() for name, array in arrays.items()}
    lengths = {name: vector.size for name, vector in vectors.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"{path}: vectors differ in length: {lengths}")
    return vectors

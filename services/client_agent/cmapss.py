"""C-MAPSS text: run-to-failure series of turbofan engines, 26 columns without a header.

The format is that of A. Saxena and K. Goebel (2008), "Turbofan Engine Degradation Simulation Data Set", NASA Ames
Prognostics Data Repository: unit, cycle, three operational settings, 21 sensors, separated by white space, each line
ending in two spaces. Counts of engines always come from the file: the data set's own readme has two of them wrong.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from client_agent.datafile import FloatArray, IntArray, Missing, read_lines, read_matrix
from fgpr.errors import DataError

COLUMNS = (
    "unit",
    "cycle",
    *(f"setting{number}" for number in range(1, 4)),
    *(f"s{number}" for number in range(1, 22)),
)
"""The 26 columns in the file's order."""

_LARGEST_ID = 2**53


@dataclass(frozen=True, eq=False)
class CMapss:
    """Engines of one file, rows in the order of unit and cycle.

    Attributes:
        units: unit id of each row as given, shape (rows,).
        columns: all of `COLUMNS`, each of shape (rows,); cycle in cycles, the rest in the file's units.
    """

    units: IntArray
    columns: dict[str, FloatArray]

    @property
    def engines(self) -> tuple[int, ...]:
        """The unit ids, rising, each once."""
        return tuple(int(unit) for unit in np.unique(self.units))

    def engine(self, unit: int) -> dict[str, FloatArray]:
        """Every column of one engine, each of shape (cycles,), in the order of cycles.

        Raises:
            DataError: no such unit.
        """
        start, stop = np.searchsorted(self.units, (unit, unit + 1))
        if start == stop:
            engines = self.engines
            raise DataError(f"no unit {unit} among the {len(engines)} units {engines[0]} to {engines[-1]}")
        return {name: column[start:stop] for name, column in self.columns.items()}


def read_cmapss(path: Path) -> CMapss:
    """The engines of a C-MAPSS file, packed by gzip or not.

    Raises:
        DataError: not text, a line without 26 fields, a cell that is no finite number, a unit or cycle that is not
            whole, or a (unit, cycle) that comes twice.
    """
    return parse_cmapss(path, read_lines(path))


def parse_cmapss(path: Path, text: Iterable[tuple[int, str]]) -> CMapss:
    """As `read_cmapss`, from the numbered lines of `client_agent.datafile.read_lines`; `path` is for messages."""
    columns, _ = cmapss_rows(path, text)
    return CMapss(units=columns["unit"].astype(np.int64), columns=columns)


def cmapss_rows(
    path: Path, text: Iterable[tuple[int, str]], missing: Missing | None = None
) -> tuple[dict[str, FloatArray], list[int]]:
    """As `parse_cmapss`, with the cells that hold no value as NaN; the columns, and the line number of each row."""
    matrix, lines = read_matrix(path, ((line, row.split()) for line, row in text), COLUMNS, missing)
    order = order_rows(path, matrix[:, 0], matrix[:, 1], lines)
    matrix = matrix[order]
    return {name: matrix[:, index].copy() for index, name in enumerate(COLUMNS)}, [lines[row] for row in order]


def read_rul(path: Path, engines: int) -> FloatArray:
    """Remaining useful life of each test engine, in cycles after its last row.

    Args:
        path: one number a line, in the order of the test file's units.
        engines: number of engines in the test file.

    Returns:
        Array of shape (engines,).

    Raises:
        DataError: not text, not one finite number of at least 0 a line, or not one line for each engine.
    """
    matrix, lines = read_matrix(path, ((line, row.split()) for line, row in read_lines(path)), ("rul",))
    if len(lines) != engines:
        raise DataError(
            f"{path}: {len(lines)} remaining lives for {engines} test engines; one line an engine is needed"
        )
    negative = np.flatnonzero(matrix[:, 0] < 0)
    if negative.size:
        first = int(negative[0])
        raise DataError(f"{path}, line {lines[first]}: a remaining life of {matrix[first, 0]:g} cycles is below 0")
    return matrix[:, 0].copy()


def order_rows(
    path: Path, units: FloatArray, cycles: FloatArray, lines: Sequence[int], place: str = "line"
) -> IntArray:
    """The order of rows by unit, then by cycle.

    Args:
        path: the file, for messages.
        units: shape (rows,).
        cycles: shape (rows,).
        lines: line number of each row.
        place: what `lines` counts, for messages.

    Returns:
        Row indices, shape (rows,); rows without a unit come last, those without a cycle last in their unit.

    Raises:
        DataError: a unit or cycle that is not a whole number below 2^53, or two rows of one unit and cycle.
    """
    for name, column in (("unit", units), ("cycle", cycles)):
        broken = np.flatnonzero((np.isfinite(column) & (column != np.rint(column))) | (np.abs(column) >= _LARGEST_ID))
        if broken.size:
            first = int(broken[0])
            raise DataError(
                f"{path}, {place} {lines[first]}, column {name!r}: {column[first]:g} is not a whole number below 2^53"
            )
    order = np.lexsort((cycles, units))
    twice = np.flatnonzero((np.diff(units[order]) == 0) & (np.diff(cycles[order]) == 0))
    if twice.size:
        first, second = int(order[twice[0]]), int(order[twice[0] + 1])
        raise DataError(
            f"{path}, {place} {lines[second]}: unit {units[second]:.0f} has cycle {cycles[second]:.0f} already in "
            f"{place} {lines[first]}; {len(twice)} such rows in all"
        )
    return order

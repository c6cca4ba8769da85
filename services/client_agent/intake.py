"""Intake: a client's data file, whatever its format, as named columns.

Formats are told by content first and by suffix second. Nothing is scaled, filtered or filled in: the columns are in the
units of the file, and a file that cannot be used as it is gets refused with its place named. `client_agent.cmapss`,
`tables`, `matlab` and `parquet` read the formats; `client_agent.own_rows` makes a model's rows of the columns.
"""

import difflib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from client_agent import matlab, parquet
from client_agent.cmapss import COLUMNS, cmapss_rows, order_rows
from client_agent.datafile import FloatArray, Missing, read_finished_lines, read_lines
from client_agent.tables import csv_rows
from fgpr.errors import DataError


@dataclass(frozen=True, eq=False)
class Table:
    """What a data file holds.

    Attributes:
        format: of the file, for people.
        columns: by name, each of shape (rows,), in the file's units; NaN where a cell holds no value.
        places: line, or row where the format has no lines, of each row.
        place: which of the two, "line" or "row".
        others: columns that were not read, with the reason.
        unfinished: a last line without its line end was left out.
    """

    format: str
    columns: dict[str, FloatArray]
    places: Sequence[int]
    place: str = "line"
    others: dict[str, str] = field(default_factory=dict)
    unfinished: bool = False


def read_columns(path: Path, unit: int | None = None, required: Sequence[str] = ()) -> dict[str, FloatArray]:
    """The columns of a data file in which every cell holds a number.

    Args:
        path: a file as `read_table` takes it.
        unit: take the rows of this unit only; all rows by default.
        required: names that the file must have; others are returned too.

    Returns:
        Arrays of shape (rows,), all of one length, by column name.

    Raises:
        DataError: as `read_table`, no such unit, or a name missing.
    """
    columns = read_table(path).columns
    if unit is not None:
        check_names(path, columns, ("unit",))
        rows = columns["unit"] == unit
        if not rows.any():
            raise DataError(f"{path}: no row of unit {unit}; there are {spell_units(columns['unit'])}")
        columns = {name: column[rows] for name, column in columns.items()}
    check_names(path, columns, required)
    return columns


def read_table(
    path: Path, missing: Missing | None = None, only: Collection[str] | None = None, growing: bool = False
) -> Table:
    """Read a data file.

    Args:
        path: C-MAPSS text or a CSV file with a header row, packed by gzip or not; a MATLAB file; a Parquet file.
        missing: which cells hold no value; None refuses them.
        only: the columns that are read where the file names its columns, with unit and cycle; None reads all.
        growing: somebody may be writing the file: a last line without its line end is left out.

    Raises:
        DataError: none of these formats, or a fault that the reader of the format names.
    """
    table = _binary(path, only)
    if table is None:
        lines, unfinished = read_finished_lines(path) if growing else (read_lines(path), False)
        if _is_csv(path, lines[0][1]):
            columns, places, names = csv_rows(path, lines, missing, only)
            others = {name: "not needed" for name in names if name not in columns}
            return Table("CSV", columns, places, others=others, unfinished=unfinished)
        columns, places = cmapss_rows(path, lines, missing)
        return Table("C-MAPSS text", columns, places, unfinished=unfinished)
    marked = {name: column if missing is None else missing.mark(column) for name, column in table.columns.items()}
    for name, column in marked.items():
        bad = np.flatnonzero(~np.isfinite(column) if missing is None else np.isinf(column))
        if bad.size:
            raise DataError(f"{path}, row {bad[0] + 1}, column {name!r}: {column[bad[0]]} is not a finite number")
    if {"unit", "cycle"} <= set(marked):
        order = order_rows(path, marked["unit"], marked["cycle"], table.places, table.place)
        marked = {name: column[order] for name, column in marked.items()}
        return Table(table.format, marked, [table.places[row] for row in order], "row", table.others)
    return Table(table.format, marked, table.places, "row", table.others)


def check_names(path: Path, columns: Collection[str], required: Sequence[str]) -> None:
    """Check that a file has columns of these names.

    Raises:
        DataError: one is missing; names the nearest.
    """
    missing = [name for name in required if name not in columns]
    if not missing:
        return
    raise DataError(
        f"{path}: no column {', '.join(map(repr, missing))} among the {len(columns)} columns "
        f"{', '.join(list(columns)[:30])}{nearest(missing[0], columns)}"
    )


def nearest(name: str, known: Collection[str]) -> str:
    """The hint to a name that was probably meant, or nothing."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def spell_units(column: FloatArray) -> str:
    """The units of a column, for messages."""
    units = [f"{unit:.0f}" for unit in np.unique(column[np.isfinite(column)])]
    return f"{len(units)} units, {units[0]} to {units[-1]}" if units else "none"


def _binary(path: Path, only: Collection[str] | None) -> Table | None:
    start = _start(path)
    if start.startswith(parquet.MAGIC) or path.suffix.lower() == ".parquet":
        columns, kinds = parquet.read_parquet(path, only)
        others = {name: f"holds no numbers ({kind})" for name, kind in kinds.items()}
        return _rows("Parquet", columns, others)
    # Files of version 4 have no mark of their own.
    if start.startswith(b"MATLAB ") or path.suffix.lower() == ".mat":
        return _rows("MATLAB file", matlab.read_mat(path), {})
    return None


def _rows(kind: str, columns: dict[str, FloatArray], others: dict[str, str]) -> Table:
    rows = len(next(iter(columns.values()))) if columns else 0
    return Table(kind, columns, range(1, rows + 1), "row", others)


def _start(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(8)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error}") from error


def _is_csv(path: Path, first: str) -> bool:
    if "," in first:
        return True
    if len(first.split()) == len(COLUMNS):
        return False
    return ".csv" in (suffix.lower() for suffix in path.suffixes[-2:])

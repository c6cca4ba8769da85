"""Intake: a client's data file, whatever its format, as named columns.

Formats are told by content first and by suffix second. Nothing is scaled, filtered or filled in: the columns are in the
units of the file, and a file that cannot be used as it is gets refused with its place named. `client_agent.cmapss` and
`client_agent.tables` read the formats.
"""

import difflib
from collections.abc import Sequence
from pathlib import Path

from client_agent.cmapss import COLUMNS, CMapss, parse_cmapss
from client_agent.datafile import FloatArray, read_lines
from client_agent.tables import parse_csv
from fgpr.errors import DataError


def read_columns(path: Path, unit: int | None = None, required: Sequence[str] = ()) -> dict[str, FloatArray]:
    """The columns of a data file.

    Args:
        path: C-MAPSS text or a CSV file with a header row, packed by gzip or not.
        unit: take the rows of this unit only; all rows by default.
        required: names that the file must have; others are returned too.

    Returns:
        Arrays of shape (rows,), all of one length, by column name.

    Raises:
        DataError: neither format, a fault that `read_cmapss` or `read_csv` names, no such unit, or a name missing.
    """
    lines = read_lines(path)
    columns: dict[str, FloatArray]
    if _is_csv(path, lines[0][1]):
        columns = parse_csv(path, lines)
        if unit is not None:
            columns = _unit_of_table(path, columns, unit)
    else:
        data = parse_cmapss(path, lines)
        columns = data.columns if unit is None else _engine(path, data, unit)
    _check_names(path, columns, required)
    return columns


def _is_csv(path: Path, first: str) -> bool:
    if "," in first:
        return True
    if len(first.split()) == len(COLUMNS):
        return False
    return ".csv" in (suffix.lower() for suffix in path.suffixes[-2:])


def _engine(path: Path, data: CMapss, unit: int) -> dict[str, FloatArray]:
    try:
        return data.engine(unit)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def _unit_of_table(path: Path, columns: dict[str, FloatArray], unit: int) -> dict[str, FloatArray]:
    _check_names(path, columns, ("unit",))
    rows = columns["unit"] == unit
    if not rows.any():
        raise DataError(f"{path}: no row of unit {unit}")
    return {name: column[rows] for name, column in columns.items()}


def _check_names(path: Path, columns: dict[str, FloatArray], required: Sequence[str]) -> None:
    missing = [name for name in required if name not in columns]
    if not missing:
        return
    near = difflib.get_close_matches(missing[0], columns, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise DataError(
        f"{path}: no column {', '.join(map(repr, missing))} among the {len(columns)} columns "
        f"{', '.join(list(columns)[:30])}{hint}"
    )

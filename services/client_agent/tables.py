"""CSV tables with a header row, one column a name.

The dialect is RFC 4180 with a comma; names lose the white space around them. A table with the columns unit and cycle
holds series, and its rows are ordered and checked like those of C-MAPSS text.
"""

import csv
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from client_agent.cmapss import order_rows
from client_agent.datafile import FloatArray, Missing, read_lines, read_matrix
from fgpr.errors import DataError

_OTHER_SEPARATORS = {";": "';'", "\t": "a tab", "|": "'|'"}


def read_csv(path: Path) -> dict[str, FloatArray]:
    """The columns of a CSV file, packed by gzip or not, each of shape (rows,).

    Raises:
        DataError: not text, no header row, a name that is empty or repeated, another separator than a comma, no row,
            a row of another length than the header, or a cell that is no finite number.
    """
    return parse_csv(path, read_lines(path))


def parse_csv(path: Path, text: Sequence[tuple[int, str]]) -> dict[str, FloatArray]:
    """As `read_csv`, from the numbered lines of `client_agent.datafile.read_lines`; `path` is for messages."""
    return csv_rows(path, text)[0]


def csv_rows(
    path: Path, text: Sequence[tuple[int, str]], missing: Missing | None = None, only: Collection[str] | None = None
) -> tuple[dict[str, FloatArray], list[int], list[str]]:
    """As `parse_csv`, with the cells that hold no value as NaN.

    Args:
        path: for messages.
        text: numbered lines.
        missing: which cells hold no value; None refuses them.
        only: the columns that are read, with unit and cycle where both are there; None reads all.

    Returns:
        The columns that were read, the line number of each row, and the names of all columns.
    """
    rows = _rows(path, text)
    names = _header(path, *next(rows))
    series = "unit" in names and "cycle" in names
    wanted = None if only is None else {*only, *(("unit", "cycle") if series else ())}
    read = [index for index, name in enumerate(names) if wanted is None or name in wanted]
    matrix, lines = read_matrix(path, rows, names, missing, None if wanted is None else read)
    columns = {names[index]: matrix[:, place] for place, index in enumerate(read)}
    if series:
        order = order_rows(path, columns["unit"], columns["cycle"], lines)
        columns, lines = {name: column[order] for name, column in columns.items()}, [lines[row] for row in order]
    return {name: column.copy() for name, column in columns.items()}, lines, names


def _rows(path: Path, text: Sequence[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    # Line by line: a quoted cell never spans lines in a table of numbers, and an open quote must not swallow the file.
    for line, row in text:
        try:
            fields = next(csv.reader([row], strict=True))
        except csv.Error as error:
            raise DataError(f"{path}, line {line}: not a row of CSV: {error}") from error
        yield line, fields


def _header(path: Path, line: int, fields: list[str]) -> list[str]:
    names = [field.strip() for field in fields]
    place = f"{path}, line {line}"
    for separator, spelled in _OTHER_SEPARATORS.items():
        if len(names) == 1 and separator in names[0]:
            raise DataError(f"{place}: the columns are separated by {spelled}; a comma is needed")
    if "" in names:
        raise DataError(f"{place}: column {names.index('') + 1} of {len(names)} has no name")
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise DataError(f"{place}: {names.count(repeated)} columns have the name {repeated!r}")
    if all(_looks_numeric(name) for name in names):
        raise DataError(f"{place}: numbers where the names of the columns are needed; add a header row")
    return names


def _looks_numeric(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True

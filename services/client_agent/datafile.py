"""Data files of measurements: from bytes on disk to lines of text, from fields to a matrix of finite numbers.

Everything that a text file can hide is settled here, for every format alike: gzip (told by content, not by
name), a UTF-8 byte order mark, CRLF and CR line ends, blank lines, a missing last newline, other encodings, lines
and files beyond a limit. Each refusal names the file, the line and, for a cell, the column.
"""

import gzip
import math
import zlib
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fgpr.errors import DataError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MAX_BYTES = 256 * 2**20
"""Largest file that is read, in bytes after unpacking."""

MAX_LINE = 65_536
"""Longest line that is read, in characters."""

_GZIP = b"\x1f\x8b"
_UTF8_MARK = b"\xef\xbb\xbf"
# UTF-32 comes first: its little-endian mark begins with that of UTF-16.
_OTHER_MARKS = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


@dataclass(frozen=True)
class Missing:
    """Which cells hold no value: empty ones, NaN, and whatever the owner declares.

    Attributes:
        texts: declared cells as they stand in a text file, without white space around them.
        numbers: declared numbers, for instance -999.
    """

    texts: frozenset[str] = frozenset()
    numbers: frozenset[float] = frozenset()

    @classmethod
    def declared(cls, markers: Iterable[str | float]) -> "Missing":
        """The cells that an owner declares, as texts or numbers; the text of a number means the number, too."""
        given = list(markers)
        texts = frozenset(marker.strip() for marker in given if isinstance(marker, str))
        numbers = {float(marker) for marker in given if not isinstance(marker, str)}
        return cls(texts, frozenset(numbers | {_number(text) for text in texts if _is_number(text, _number)}))

    def number(self, field: str) -> float:
        """The number in a cell, NaN where it holds no value.

        Raises:
            ValueError: something else.
        """
        text = field.strip()
        if not text or text in self.texts:
            return math.nan
        value = _number(text)
        return math.nan if value in self.numbers else value

    def mark(self, column: FloatArray) -> FloatArray:
        """A column, NaN where it holds a declared number."""
        return np.where(np.isin(column, list(self.numbers)), np.nan, column) if self.numbers else column


def read_lines(path: Path, max_bytes: int = MAX_BYTES) -> list[tuple[int, str]]:
    """The lines of a text file that hold anything.

    Args:
        path: a text file in UTF-8, as it is or packed by gzip.
        max_bytes: largest size after unpacking, in bytes.

    Returns:
        (line number counted from 1, text without its line end), blank lines left out.

    Raises:
        DataError: no such file, not readable, not UTF-8 text, empty, or beyond `max_bytes` or `MAX_LINE`.
    """
    return _lines(path, _read(path, max_bytes))


def read_finished_lines(path: Path, max_bytes: int = MAX_BYTES) -> tuple[list[tuple[int, str]], bool]:
    """As `read_lines`, of a file that somebody may be writing: a last line without its line end is left out.

    Nothing else tells a whole last line from a half one: a number that was cut off is a number still, and a writer with
    a buffer may leave it so for hours.

    Returns:
        The lines, and whether a last one was left out.

    Raises:
        DataError: as `read_lines`; no line is finished.
    """
    raw = _read(path, max_bytes)
    end = max(raw.rfind(b"\n"), raw.rfind(b"\r")) + 1
    unfinished = bool(raw[end:].strip())
    if unfinished and not raw[:end].strip():
        raise DataError(f"{path}: no line is finished yet: the only one has no line end")
    return _lines(path, raw[:end] if unfinished else raw), unfinished


def _lines(path: Path, raw: bytes) -> list[tuple[int, str]]:
    text = _decode(path, raw).replace("\r\n", "\n").replace("\r", "\n")
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if not lines:
        raise DataError(f"{path}: the file is empty")
    for number, line in lines:
        if len(line) > MAX_LINE:
            raise DataError(
                f"{path}, line {number}: {len(line)} characters, at most {MAX_LINE} are read; one row has one line"
            )
    return lines


def read_matrix(
    path: Path,
    rows: Iterable[tuple[int, Sequence[str]]],
    names: Sequence[str],
    missing: Missing | None = None,
    only: Sequence[int] | None = None,
) -> tuple[FloatArray, list[int]]:
    """Rows of fields as a matrix of finite numbers.

    Args:
        path: the file, for messages.
        rows: (line number, fields) of each row, in the file's order.
        names: the columns.
        missing: which cells hold no value; they become NaN. Where it is None, such cells are refused.
        only: indices of the columns that are read, whatever the others hold; None reads all.

    Returns:
        Matrix of shape (rows, columns read), and the line number of each row.

    Raises:
        DataError: no row, another number of fields than columns, or a cell that is no number, NaN or infinite.
    """
    read = range(len(names)) if only is None else only
    shown = [names[index] for index in read]
    number = _number if missing is None else missing.number
    values = array("d")
    lines: list[int] = []
    for line, fields in rows:
        if len(fields) != len(names):
            raise DataError(f"{path}, line {line}: fields: {len(fields)}, needed: {len(names)} ({_spell(names)})")
        cells = fields if only is None else [fields[index] for index in only]
        try:
            values.extend(map(number, cells))
        except ValueError as error:
            name, cell = next((n, f) for n, f in zip(shown, cells, strict=True) if not _is_number(f, number))
            raise DataError(f"{path}, line {line}, column {name!r}: {_show(cell)} is not a number") from error
        lines.append(line)
    if not lines:
        raise DataError(f"{path}: no row of data")
    matrix = np.frombuffer(values, dtype=np.float64).reshape(len(lines), len(shown)).copy()
    bad = np.argwhere(~np.isfinite(matrix) if missing is None else np.isinf(matrix))
    if bad.size:
        row, column = (int(index) for index in bad[0])
        affected = len(np.unique(bad[:, 0]))
        raise DataError(
            f"{path}, row {row + 1} (line {lines[row]}), column {shown[column]!r}: {matrix[row, column]} is not a "
            f"finite number; {affected} of {len(lines)} rows hold such cells: mend them or take them out"
        )
    return matrix, lines


def _read(path: Path, max_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            packed = file.read(len(_GZIP)) == _GZIP
        with gzip.open(path, "rb") if packed else path.open("rb") as file:
            raw = file.read(max_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    if len(raw) > max_bytes:
        raise DataError(f"{path}: larger than {max_bytes} bytes{' unpacked' if packed else ''}; split it by client")
    return raw


def _decode(path: Path, raw: bytes) -> str:
    for mark, encoding in _OTHER_MARKS.items():
        if raw.startswith(mark):
            raise DataError(f"{path}: the file is {encoding}; save it as UTF-8")
    body = raw.removeprefix(_UTF8_MARK)
    zero = body.find(b"\0")
    if zero >= 0:
        raise DataError(
            f"{path}, line {_line_of(body, zero)}: a zero byte; the file is UTF-16 without its mark, or no text: "
            "save it as UTF-8"
        )
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}, line {_line_of(body, error.start)}: byte {body[error.start]:#04x} is not UTF-8; save it as UTF-8"
        ) from error


def _line_of(body: bytes, position: int) -> int:
    return body.count(b"\n", 0, position) + 1


def _number(field: str) -> float:
    # Python's float also takes 1_000 and the digits of every script, which no data file means.
    if "_" in field or not field.isascii():
        raise ValueError(field)
    return float(field)


def _is_number(field: str, number: Callable[[str], float]) -> bool:
    try:
        number(field)
    except ValueError:
        return False
    return True


def _show(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else cell[:40] + "...") if cell.strip() else "an empty cell"


def _spell(names: Sequence[str]) -> str:
    return ", ".join(names if len(names) <= 8 else [*names[:4], "...", names[-1]])

"""What a text file can hide, and the limits."""

import gzip

import numpy as np
import pytest

from client_agent import datafile
from fgpr.errors import DataError


def write(tmp_path, raw, name="rows.txt"):
    path = tmp_path / name
    path.write_bytes(raw)
    return path


@pytest.mark.parametrize(
    "raw",
    [
        b"1 2\n\n3 4\n",
        b"1 2\n\n3 4",
        b"1 2\r\n\r\n3 4\r\n",
        b"1 2\r\r3 4\r",
        b"\xef\xbb\xbf1 2\n \t\n3 4\n\n\n",
        gzip.compress(b"1 2\n\n3 4\n", mtime=0),
    ],
)
def test_same_lines_however_they_are_written(tmp_path, raw):
    assert datafile.read_lines(write(tmp_path, raw)) == [(1, "1 2"), (3, "3 4")]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_refused_by_name(tmp_path, encoding):
    with pytest.raises(DataError, match="UTF-16"):
        datafile.read_lines(write(tmp_path, "1 2\n3 4\n".encode(encoding)))


def test_utf16_big_endian_mark_and_utf32(tmp_path):
    with pytest.raises(DataError, match="UTF-16; save it as UTF-8"):
        datafile.read_lines(write(tmp_path, b"\xfe\xff" + "1\n".encode("utf-16-be")))
    with pytest.raises(DataError, match="UTF-32"):
        datafile.read_lines(write(tmp_path, "1\n".encode("utf-32")))


def test_other_encodings_name_the_line(tmp_path):
    with pytest.raises(DataError, match=r"rows\.txt, line 2: byte 0x96 is not UTF-8"):
        datafile.read_lines(write(tmp_path, b"1 2\n3 \x96 4\n"))


@pytest.mark.parametrize("raw", [b"", b"\n \r\n\t\n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_refused(tmp_path, raw):
    with pytest.raises(DataError, match="empty"):
        datafile.read_lines(write(tmp_path, raw))


def test_what_cannot_be_read_is_refused_with_its_path(tmp_path):
    with pytest.raises(DataError, match=r"gone\.txt: cannot be read"):
        datafile.read_lines(tmp_path / "gone.txt")
    with pytest.raises(DataError, match="cannot be read"):
        datafile.read_lines(tmp_path)
    packed = gzip.compress(b"1 2\n" * 1000)
    for broken in (packed[:-20], packed[:10] + b"\xff" * 20 + packed[30:]):
        with pytest.raises(DataError, match="cannot be read"):
            datafile.read_lines(write(tmp_path, broken))


def test_size_limit_counts_unpacked_bytes(tmp_path):
    text = b"1 2\n" * 25
    for raw in (text, gzip.compress(text)):
        assert len(datafile.read_lines(write(tmp_path, raw), max_bytes=100)) == 25
        with pytest.raises(DataError, match="larger than 99 bytes"):
            datafile.read_lines(write(tmp_path, raw), max_bytes=99)


def test_line_limit(tmp_path):
    assert datafile.read_lines(write(tmp_path, b"1" * datafile.MAX_LINE))
    with pytest.raises(DataError, match=r"line 2: 65537 characters, at most 65536"):
        datafile.read_lines(write(tmp_path, b"1\n" + b"1" * (datafile.MAX_LINE + 1)))


def test_matrix_keeps_rows_and_lines(tmp_path):
    matrix, lines = datafile.read_matrix(tmp_path, [(2, ["1", "-2.5e3"]), (5, ["0.1", " 4 "])], ("x", "y"))
    assert matrix.tolist() == [[1.0, -2500.0], [0.1, 4.0]]
    assert matrix.dtype == np.float64
    assert lines == [2, 5]


@pytest.mark.parametrize("cell", ["", " ", "x", "1,5", "1_000", "0x10", "\u0661", "NA", "--"])
def test_a_cell_that_is_no_number_is_named(tmp_path, cell):
    with pytest.raises(DataError, match=r"a\.csv, line 7, column 'y': .* is not a number"):
        datafile.read_matrix(tmp_path / "a.csv", [(6, ["1", "2"]), (7, ["1", cell])], ("x", "y"))


@pytest.mark.parametrize("cell", ["nan", "NaN", "inf", "-Infinity", "1e999"])
def test_a_cell_that_is_not_finite_names_row_and_line(tmp_path, cell):
    rows = [(2, ["1", "2"]), (4, ["1", cell]), (5, ["1", cell])]
    with pytest.raises(DataError, match=r"row 2 \(line 4\), column 'y': .*; 2 of 3 rows"):
        datafile.read_matrix(tmp_path, rows, ("x", "y"))


def test_long_cells_are_cut_in_messages(tmp_path):
    with pytest.raises(DataError) as caught:
        datafile.read_matrix(tmp_path, [(1, ["z" * 10_000])], ("x",))
    assert len(str(caught.value)) < 300


def test_wrong_number_of_fields_names_line_and_count(tmp_path):
    for fields in (["1"], ["1", "2", "3"]):
        with pytest.raises(DataError, match=rf"line 3: fields: {len(fields)}, needed: 2 \(x, y\)"):
            datafile.read_matrix(tmp_path, [(3, fields)], ("x", "y"))
    with pytest.raises(DataError, match="no row of data"):
        datafile.read_matrix(tmp_path, [], ("x", "y"))

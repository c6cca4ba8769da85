"""C-MAPSS text: the public cases B1, B2, B4 (reading) and B5, and the real files."""

import gzip
import re

import numpy as np
import pytest

from client_agent.cmapss import COLUMNS, read_cmapss, read_rul
from fgpr.errors import DataError

# The made-up line of case B1; cycle is field 2.
LINE = (
    "7 {} 0.0012 -0.0003 100.0 518.67 642.11 1588.05 1401.42 14.62 21.61 554.02 2388.05 9047.33 1.30 47.35 521.91 "
    "2388.04 8137.20 8.4251 0.03 392 2388 100.00 38.97 23.3777"
)
ROWS = [LINE.format(cycle) for cycle in (1, 2, 3)]
B1 = "".join(row + "  \n" for row in ROWS)
B1_VARIANTS = {
    "two spaces at each end": B1,
    "tabs": B1.replace(" ", "\t"),
    "double spaces": "".join(row.replace(" ", "  ") + "  \n" for row in ROWS),
    "no final newline": B1.removesuffix("\n"),
    "no final spaces": "\n".join(ROWS),
    "blank last lines": B1 + "\n   \n\n",
    "leading spaces": "".join("  " + row + "\n" for row in ROWS),
}


def write(tmp_path, raw, name="train.txt"):
    path = tmp_path / name
    path.write_bytes(raw.encode() if isinstance(raw, str) else raw)
    return path


def engine_text(unit, cycles):
    return "".join(f"{unit} {cycle} " + " ".join(["1.5"] * 24) + "  \n" for cycle in cycles)


def check_b1(data):
    assert list(data.columns) == list(COLUMNS)
    assert len(COLUMNS) == 26
    assert all(column.shape == (3,) for column in data.columns.values())
    assert data.units.tolist() == [7, 7, 7]
    assert data.units.dtype == np.int64
    assert data.engines == (7,)
    assert data.columns["cycle"].tolist() == [1, 2, 3]
    assert data.columns["setting2"].tolist() == [-0.0003] * 3
    assert data.columns["s1"].tolist() == [518.67] * 3
    assert data.columns["s21"].tolist() == [23.3777] * 3


@pytest.mark.parametrize("name", B1_VARIANTS)
def test_b1_every_spacing_gives_26_columns_and_3_rows(tmp_path, name):
    check_b1(read_cmapss(write(tmp_path, B1_VARIANTS[name])))
    check_b1(read_cmapss(write(tmp_path, gzip.compress(B1_VARIANTS[name].encode()), "train.txt.gz")))


def test_b2_byte_order_mark_and_crlf(tmp_path):
    check_b1(read_cmapss(write(tmp_path, b"\xef\xbb\xbf" + B1.replace("\n", "\r\n").encode())))


def test_b2_utf16_says_so(tmp_path):
    with pytest.raises(DataError, match=r"train\.txt: the file is UTF-16"):
        read_cmapss(write(tmp_path, B1.encode("utf-16")))


def test_b4_no_engine_is_dropped_however_short(tmp_path):
    lives = {1: 1, 2: 2, 3: 3, 4: 29, 5: 30, 6: 200}
    text = "".join(engine_text(unit, range(1, life + 1)) for unit, life in lives.items())
    data = read_cmapss(write(tmp_path, text))
    assert {unit: len(data.engine(unit)["cycle"]) for unit in data.engines} == lives


def test_b5_unit_ids_are_kept_and_rows_sorted(tmp_path):
    text = engine_text(4, [2, 1]) + engine_text(1, [1]) + engine_text(2, [1, 2, 3]) + engine_text(1, [2])
    data = read_cmapss(write(tmp_path, text))
    assert data.engines == (1, 2, 4)
    assert data.units.tolist() == [1, 1, 2, 2, 2, 4, 4]
    assert data.columns["unit"].tolist() == data.units.tolist()
    assert data.columns["cycle"].tolist() == [1, 2, 1, 2, 3, 1, 2]
    assert data.engine(4)["cycle"].tolist() == [1, 2]


def test_sorting_moves_whole_rows(tmp_path):
    rows = [f"1 {cycle} " + " ".join([str(cycle * 10.0)] * 24) for cycle in (3, 1, 2)]
    engine = read_cmapss(write(tmp_path, "\n".join(rows))).engine(1)
    assert engine["s21"].tolist() == [10.0, 20.0, 30.0]
    assert engine["setting1"].tolist() == [10.0, 20.0, 30.0]


def test_b5_repeated_unit_and_cycle_names_both_lines(tmp_path):
    text = engine_text(1, [1, 2]) + engine_text(2, [1]) + engine_text(1, [2])
    with pytest.raises(DataError, match=r"line 4: unit 1 has cycle 2 already in line 2; 1 such rows"):
        read_cmapss(write(tmp_path, text))


def test_b5_rul_lines_against_engines(tmp_path):
    path = write(tmp_path, "112 \n98 \n69 \n\n", "RUL.txt")
    assert read_rul(path, 3).tolist() == [112.0, 98.0, 69.0]
    with pytest.raises(DataError, match=r"RUL\.txt: 3 remaining lives for 2 test engines"):
        read_rul(path, 2)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("112\n-1\n", "line 2: a remaining life of -1 cycles is below 0"),
        ("112\nx\n", "line 2, column 'rul': 'x' is not a number"),
        ("112\nnan\n", r"row 2 \(line 2\), column 'rul'"),
        ("112 98\n", "line 1: fields: 2, needed: 1"),
    ],
)
def test_bad_rul(tmp_path, text, fault):
    with pytest.raises(DataError, match=fault):
        read_rul(write(tmp_path, text, "RUL.txt"), 2)


def test_wrong_field_count_names_line_and_count(tmp_path):
    short = ROWS[1].rsplit(" ", 1)[0]
    for bad, count in ((short, 25), (ROWS[1] + " 1.0", 27)):
        with pytest.raises(DataError, match=rf"train\.txt, line 2: fields: {count}, needed: 26"):
            read_cmapss(write(tmp_path, "\n".join([ROWS[0], bad, ROWS[2]])))


def test_bad_cells_name_line_and_column(tmp_path):
    with pytest.raises(DataError, match=r"line 3, column 's2': '642\.1l' is not a number"):
        read_cmapss(write(tmp_path, "\n".join([*ROWS[:2], ROWS[2].replace("642.11", "642.1l")])))
    with pytest.raises(DataError, match=r"row 2 \(line 2\), column 's21': nan is not a finite number"):
        read_cmapss(write(tmp_path, "\n".join([ROWS[0], ROWS[1].replace("23.3777", "NaN"), ROWS[2]])))


@pytest.mark.parametrize(
    ("unit", "cycle", "column"), [("7.5", "1", "unit"), ("7", "1.5", "cycle"), ("1e300", "1", "unit")]
)
def test_unit_and_cycle_are_whole_numbers(tmp_path, unit, cycle, column):
    text = f"{unit} {cycle} " + " ".join(["0"] * 24)
    with pytest.raises(DataError, match=f"line 1, column '{column}': .* is not a whole number"):
        read_cmapss(write(tmp_path, text))


def test_unknown_unit_is_refused(tmp_path):
    data = read_cmapss(write(tmp_path, engine_text(1, [1]) + engine_text(4, [1])))
    for unit in (0, 2, 5):
        with pytest.raises(DataError, match=re.escape(f"no unit {unit} among the 2 units 1 to 4")):
            data.engine(unit)


# Rows, engines and cycles (least, most) of the real files.
REAL = {
    "train_FD001.txt": (20631, 100, 128, 362),
    "train_FD002.txt.gz": (53759, 260, 128, 378),
    "train_FD003.txt.gz": (24720, 100, 145, 525),
    "train_FD004.txt.gz": (61249, 249, 128, 543),
    "test_FD001.txt": (13096, 100, 31, 303),
    "test_FD002.txt.gz": (33991, 259, 21, 367),
    "test_FD003.txt.gz": (16596, 100, 38, 475),
    "test_FD004.txt.gz": (41214, 248, 19, 486),
}


@pytest.fixture
def cmapss_folder(real_data):
    folder = real_data / "cmapss"
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} is no folder")
    return folder


@pytest.mark.data
@pytest.mark.parametrize("name", REAL)
def test_counts_of_the_real_files(cmapss_folder, name):
    data = read_cmapss(cmapss_folder / name)
    lives = [len(data.engine(unit)["cycle"]) for unit in data.engines]
    assert (len(data.units), len(data.engines), min(lives), max(lives)) == REAL[name]
    assert len(data.columns) == 26
    assert data.engines == tuple(range(1, len(lives) + 1))


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "engines", "least", "most"),
    [
        ("RUL_FD001.txt", 100, 7, 145),
        ("RUL_FD002.txt.gz", 259, 6, 194),
        ("RUL_FD003.txt.gz", 100, 6, 145),
        ("RUL_FD004.txt.gz", 248, 6, 195),
    ],
)
def test_real_remaining_lives(cmapss_folder, name, engines, least, most):
    lives = read_rul(cmapss_folder / name, engines)
    assert (len(lives), lives.min(), lives.max()) == (engines, least, most)
    # The data set's readme swaps FD004's counts: 249 test engines would be wrong.
    with pytest.raises(DataError, match=f"{engines} remaining lives for {engines + 1} test engines"):
        read_rul(cmapss_folder / name, engines + 1)


@pytest.mark.data
def test_real_fd001_first_row(cmapss_folder):
    engine = read_cmapss(cmapss_folder / "train_FD001.txt").engine(1)
    first = {name: column[0] for name, column in engine.items()}
    assert (first["setting1"], first["s2"], first["s4"], first["s21"]) == (-0.0007, 641.82, 1400.60, 23.4190)

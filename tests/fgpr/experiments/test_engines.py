"""The split of C-MAPSS: on a small file of this form, and on the real one where it is."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fgpr.errors import DataError
from fgpr.experiments.engines import SENSORS, draw_engines, read, read_engines


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    rows = []
    for unit in range(1, 101):
        life = 8 + unit % 3
        for cycle in range(1, life + 1):
            sensors = [518.67, *(f"{cycle + rng.normal():.2f}" for _ in range(20))]
            rows.append(" ".join(map(str, [unit, cycle, 0.1, 0.2, 100.0, *sensors])) + "  ")
    (tmp_path / "cmapss").mkdir()
    (tmp_path / "cmapss" / "train_FD001.txt").write_text("\n".join(rows) + "\n")
    return tmp_path


def test_sixty_train_and_forty_are_halved(folder: Path) -> None:
    engines = draw_engines(folder, 2, 1)
    names = [client.client for client in engines.training] + [new.known.client for new in engines.new]
    assert len(set(names)) == 100
    assert len(engines.training) == 60
    assert engines.cycles == 10.0
    for new in engines.new:
        assert new.known.y.size == (new.known.y.size + new.y.size) // 2
        assert not set(new.known.X[:, 0]) & set(new.X[:, 0])
        assert new.known.y.mean() == pytest.approx(0.0, abs=1e-12)


def test_what_is_hidden_is_scaled_by_what_is_known(folder: Path) -> None:
    rows = np.loadtxt(folder / "cmapss" / "train_FD001.txt")
    for new in draw_engines(folder, 3, 1).new:
        life = rows[rows[:, 0] == float(new.known.client.removeprefix("engine-"))]
        measured = dict(zip((life[:, 1] / 10.0).tolist(), life[:, 7].tolist(), strict=True))
        known, hidden = ([measured[x] for x in X[:, 0].tolist()] for X in (new.known.X, new.X))
        assert new.known.y == pytest.approx((known - np.mean(known)) / np.std(known), rel=1e-12)
        assert new.y == pytest.approx((hidden - np.mean(known)) / np.std(known), rel=1e-12)


def test_another_seed_deals_anew(folder: Path) -> None:
    one, two = draw_engines(folder, 2, 1), draw_engines(folder, 2, 2)
    assert [client.client for client in one.training] != [client.client for client in two.training]


@pytest.mark.parametrize(
    ("sensor", "reason"), [(0, "there are 1 to 21"), (22, "there are 1 to 21"), (1, "stands still")]
)
def test_what_is_no_sensor_to_learn_is_refused(folder: Path, sensor: int, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        draw_engines(folder, sensor, 0)


def test_files_of_another_form_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"\.txt\.gz is a file; put one there, or set FGPR_DATA to the folder"):
        read(tmp_path / "train_FD001.txt")
    (tmp_path / "short.txt").write_text("1 2 3\n")
    with pytest.raises(DataError, match="3 numbers a line"):
        read(tmp_path / "short.txt")
    (tmp_path / "words.txt").write_text("one two\n")
    with pytest.raises(DataError, match=r"words\.txt"):
        read(tmp_path / "words.txt")


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def _no_archive(path: Path) -> None:
    path.write_text("1 2 3")


def _broken_inside(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[200:260] = bytes(60)
    path.write_bytes(whole)


def _other_characters(path: Path) -> None:
    path.write_bytes(gzip.compress(b"1 \xff\xfe\n"))


def _empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("spoil", [_cut, _no_archive, _broken_inside, _other_characters, _empty])
def test_a_spoilt_archive_is_named(folder: Path, spoil: Callable[[Path], None]) -> None:
    text = folder / "cmapss" / "train_FD001.txt"
    archive = text.with_name("train_FD001.txt.gz")
    archive.write_bytes(gzip.compress(text.read_bytes()))
    whole = read(text)
    text.unlink()
    read.cache_clear()
    assert np.array_equal(read_engines(folder), whole)
    spoil(archive)
    read.cache_clear()
    with pytest.raises(DataError, match=r"train_FD001\.txt\.gz: "):
        read_engines(folder)


@pytest.mark.data
def test_the_real_engines(real_data: Path) -> None:
    rows = read(real_data / "cmapss" / "train_FD001.txt")
    assert rows.shape == (20631, 26)
    for sensor in SENSORS:
        assert np.unique(rows[:, 4 + sensor]).size > 2
    engines = draw_engines(real_data, 4, 0)
    assert engines.cycles == 362.0
    total = sum(client.y.size for client in engines.training) + sum(
        new.known.y.size + new.y.size for new in engines.new
    )
    assert total == 20631

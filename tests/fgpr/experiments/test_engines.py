"""The split of C-MAPSS: on a small file of this form, and on the real one where it is."""

from pathlib import Path

import numpy as np
import pytest

from fgpr.errors import DataError
from fgpr.experiments.engines import SENSORS, draw_engines, read


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
    with pytest.raises(DataError, match="is a file"):
        read(tmp_path / "train_FD001.txt")
    (tmp_path / "short.txt").write_text("1 2 3\n")
    with pytest.raises(DataError, match="3 numbers a line"):
        read(tmp_path / "short.txt")
    (tmp_path / "words.txt").write_text("one two\n")
    with pytest.raises(DataError, match=r"words\.txt"):
        read(tmp_path / "words.txt")


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

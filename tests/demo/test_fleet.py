import csv
from pathlib import Path

import numpy as np
import pytest

from client_agent.intake import read_columns
from demo import fleet, turbofan
from demo.fleet import Engine, Fleet
from fgpr.errors import DataError


def names(engines: Fleet) -> tuple[list[str], list[str]]:
    return [engine.name for engine in engines.clients], [engine.known.name for engine in engines.new]


def cmapss_file(path: Path, lives: list[int]) -> Path:
    """Engines 1, 2, ... whose sensor k at a cycle is 1000 k + cycle + unit / 10."""
    rows = [
        [unit, cycle, 0, 0, 100, *(1000 * sensor + cycle + unit / 10 for sensor in range(1, 22))]
        for unit, life in enumerate(lives, start=1)
        for cycle in range(1, life + 1)
    ]
    path.write_text("".join(" ".join(map(str, row)) + "\n" for row in rows))
    return path


def test_who_trains_and_who_comes_new_have_no_engine_in_common() -> None:
    training, new = names(fleet.gather(None, 4, 60, 40, seed=0))
    assert (len(training), len(new)) == (60, 40)
    assert set(training) | set(new) == {f"engine-{unit:03d}" for unit in range(1, 101)}
    # A hundred engines in a random order: that it is the order of their numbers has no chance worth naming.
    assert [*training, *new] != sorted([*training, *new])


def test_the_seed_decides_the_split_and_the_halves(tmp_path: Path) -> None:
    path = cmapss_file(tmp_path / "train.txt", [20] * 10)
    one, again, other = (fleet.gather(path, 4, 6, 4, seed) for seed in (1, 1, 2))
    assert names(one) == names(again)
    assert names(one) != names(other)
    for ours, theirs in zip(one.new, again.new, strict=True):
        assert np.array_equal(ours.known.cycles, theirs.known.cycles)


def test_a_new_engine_knows_half_of_its_rows(tmp_path: Path) -> None:
    engines = fleet.gather(cmapss_file(tmp_path / "train.txt", [41] * 6), 4, 4, 2, seed=3)
    for engine in engines.new:
        known, hidden = engine.known, engine.hidden
        assert (known.cycles.size, hidden.cycles.size) == (20, 21)
        assert sorted([*known.cycles, *hidden.cycles]) == list(range(1, 42))
        assert known.name == hidden.name
        for rows in (known, hidden):
            assert np.all(np.diff(rows.cycles) > 0)
            np.testing.assert_allclose(rows.values, 4000 + rows.cycles + int(rows.name[-3:]) / 10)
        # A random half, not the first one: hidden cycles lie before and after known ones.
        assert hidden.cycles.min() < known.cycles.max()
        assert known.cycles.min() < hidden.cycles.max()


@pytest.mark.parametrize(("longest", "upper"), [(20, 50.0), (50, 50.0), (51, 100.0)])
def test_the_declared_range_holds_every_engine(tmp_path: Path, longest: int, upper: float) -> None:
    engines = fleet.gather(cmapss_file(tmp_path / "train.txt", [10, 10, 10, 10, longest]), 2, 4, 1, seed=0)
    assert engines.upper == upper
    assert engines.sensor == "s2"


def test_an_engine_s_own_file_is_read_back_exactly(tmp_path: Path) -> None:
    life = turbofan.engines(1, np.random.default_rng(0))[0]
    engine = Engine("engine-001", life["cycle"], life["s4"] + 1 / 3)
    path = tmp_path / "data" / "engine-001.csv"
    fleet.write_csv(path, engine, "s4")
    columns = read_columns(path)
    assert np.array_equal(columns["cycle"], engine.cycles)
    assert np.array_equal(columns["s4"], engine.values)
    with path.open(newline="") as file:
        assert next(csv.reader(file)) == ["cycle", "s4"]


def test_what_the_data_do_not_have(tmp_path: Path) -> None:
    path = cmapss_file(tmp_path / "train.txt", [10] * 5)
    with pytest.raises(DataError, match=r"train\.txt has 5 engines; 4 clients and 2 new engines were asked for"):
        fleet.gather(path, 4, 4, 2, seed=0)
    with pytest.raises(DataError, match="no sensor 1 in these data; there are s2, s3, s4"):
        fleet.gather(None, 1, 4, 1, seed=0)
    with pytest.raises(DataError, match="absent"):
        fleet.gather(tmp_path / "absent.txt", 4, 4, 1, seed=0)

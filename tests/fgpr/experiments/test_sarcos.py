"""SARCOS dealt to devices: on rows made here, and on the subset where it is."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from fgpr.errors import DataError
from fgpr.experiments.sarcos import draw_devices, read

NAMES = ["row", *(f"q{n}" for n in range(21)), *(f"tau{n}" for n in range(7))]


def rows(count: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(count, 28))


def subset(folder: Path, values: np.ndarray, places: np.ndarray, header: str = ",".join(NAMES)) -> Path:
    (folder / "sarcos").mkdir()
    with gzip.open(folder / "sarcos" / "sarcos_derived_rows.csv.gz", "wt") as file:
        file.write(header + "\n")
        for place, row in zip(places, values, strict=True):
            file.write(",".join(map(repr, [int(place), *row.tolist()])) + "\n")
    return folder


def test_the_subset_is_put_in_the_order_of_time(tmp_path: Path) -> None:
    values, places = rows(30), np.random.default_rng(1).permutation(30)
    trajectory = read(subset(tmp_path, values, places))
    assert not trajectory.whole
    assert trajectory.X[places] == pytest.approx(values[:, :21])
    assert trajectory.torques[places] == pytest.approx(values[:, 21:])


def test_the_whole_file_is_preferred(tmp_path: Path) -> None:
    values = rows(40)
    savemat(subset(tmp_path, values[:5], np.arange(5)) / "sarcos" / "sarcos_inv.mat", {"sarcos_inv": values})
    trajectory = read(tmp_path)
    assert trajectory.whole
    assert pytest.approx(values[:, :21]) == trajectory.X


def test_blocks_are_contiguous_and_end_with_their_test_rows(tmp_path: Path) -> None:
    values = rows(200)
    values[:, 0] = np.arange(200)
    devices = draw_devices(read(subset(tmp_path, values, np.arange(200))), 3, "blocks", 0, devices=4)
    assert [device.training.y.size for device in devices] == [45] * 4
    for device in devices:
        steps = np.diff(np.concatenate([device.training.X[:, 0], device.X[:, 0]]))
        assert steps == pytest.approx(steps[0])
        assert device.training.y.std() == pytest.approx(1.0)
        assert device.training.X.std(axis=0) == pytest.approx(np.ones(21))


def test_a_random_split_loses_no_row(tmp_path: Path) -> None:
    values = rows(103)
    devices = draw_devices(read(subset(tmp_path, values, np.arange(103))), 1, "random", 5, devices=4)
    assert sum(device.training.y.size + device.y.size for device in devices) == 103


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a file"):
        read(tmp_path / "nowhere")
    trajectory = read(subset(tmp_path, rows(60), np.arange(60)))
    with pytest.raises(DataError, match="output 8: there are 1 to 7"):
        draw_devices(trajectory, 8, "random", 0)
    with pytest.raises(DataError, match="no split is named 'time'"):
        draw_devices(trajectory, 1, "time", 0)


def test_a_file_without_places_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no column 'row'"):
        read(subset(tmp_path, rows(3), np.arange(3), ",".join(["place", *NAMES[1:]])))


@pytest.mark.data
def test_the_real_subset(real_data: Path) -> None:
    trajectory = read(real_data)
    assert trajectory.whole or len(trajectory.X) == 12_901
    devices = draw_devices(trajectory, 1, "random", 0)
    assert {device.training.y.size + device.y.size for device in devices} <= {516, 517, 1779, 1780}

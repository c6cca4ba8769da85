"""SARCOS dealt to devices: on rows made here, and on the subset where it is."""

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from fgpr.errors import DataError
from fgpr.experiments.sarcos import draw_devices, read_subset, read_whole

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
    trajectory = read_subset(subset(tmp_path, values, places))
    assert trajectory.X[places] == pytest.approx(values[:, :21])
    assert trajectory.torques[places] == pytest.approx(values[:, 21:])


def test_the_whole_file_and_the_subset_are_never_taken_for_each_other(tmp_path: Path) -> None:
    values = rows(40)
    savemat(subset(tmp_path, values[:5], np.arange(5)) / "sarcos" / "sarcos_inv.mat", {"sarcos_inv": values})
    whole = read_whole(tmp_path)
    assert len(whole.X) == 40
    assert pytest.approx(values[:, :21]) == whole.X
    assert len(read_subset(tmp_path).X) == 5


def test_blocks_are_contiguous_and_end_with_their_test_rows(tmp_path: Path) -> None:
    values = rows(200)
    values[:, 0] = np.arange(200)
    devices = draw_devices(read_subset(subset(tmp_path, values, np.arange(200))), 3, "blocks", 0, "own", devices=4)
    assert [device.training.y.size for device in devices] == [45] * 4
    for device in devices:
        steps = np.diff(np.concatenate([device.training.X[:, 0], device.X[:, 0]]))
        assert steps == pytest.approx(steps[0])
        assert device.training.y.std() == pytest.approx(1.0)
        assert device.training.X.std(axis=0) == pytest.approx(np.ones(21))
        assert device.sd == pytest.approx(1.0)


def test_a_common_scaling_is_that_of_all_training_rows_and_no_test_row(tmp_path: Path) -> None:
    values = rows(200)
    trajectory = read_subset(subset(tmp_path, values, np.arange(200)))
    known = np.concatenate([np.arange(50 * block, 50 * block + 45) for block in range(4)])
    X, y = (values[:, part] - values[known][:, part].mean(axis=0) for part in (slice(0, 21), 23))
    X, y = X / values[known, :21].std(axis=0), y / values[known, 23].std()
    for number, device in enumerate(draw_devices(trajectory, 3, "blocks", 0, "common", devices=4)):
        own, hidden = np.arange(50 * number, 50 * number + 45), np.arange(50 * number + 45, 50 * number + 50)
        assert pytest.approx(X[own]) == device.training.X
        assert device.training.y == pytest.approx(y[own])
        assert pytest.approx(X[hidden]) == device.X
        assert device.y == pytest.approx(y[hidden])
        assert device.sd == pytest.approx(y[own].std())


def test_what_stands_still_is_refused(tmp_path: Path) -> None:
    values = rows(200)
    values[50:95, 21] = 3.0
    values[:, 5] = 1.0
    trajectory = read_subset(subset(tmp_path, values, np.arange(200)))
    for scaling, who in (("common", "all devices"), ("own", "device-01")):
        with pytest.raises(DataError, match=f"{who}: input 6 stands still"):
            draw_devices(trajectory, 1, "blocks", 0, scaling, devices=4)
    moving = replace(trajectory, X=rows(200)[:, :21])
    for scaling in ("common", "own"):
        with pytest.raises(DataError, match="device-02: torque 1 stands still"):
            draw_devices(moving, 1, "blocks", 0, scaling, devices=4)


def test_errors_are_told_in_a_devices_own_standard_deviations(tmp_path: Path) -> None:
    trajectory = read_subset(subset(tmp_path, rows(200), np.arange(200)))
    torques = trajectory.torques[:, 0]
    for scaling in ("common", "own"):
        device = draw_devices(trajectory, 1, "blocks", 0, scaling, devices=4)[1]
        # A prediction that is one half of the device's own sd too high everywhere, whatever the unit of y.
        assert device.rmse(device.y + 0.5 * device.sd) == pytest.approx(0.5)
        mean = device.training.y.mean()
        expected = np.sqrt(np.mean((torques[95:100] - torques[50:95].mean()) ** 2)) / torques[50:95].std()
        assert device.rmse(np.full(5, mean)) == pytest.approx(expected)


def test_a_random_split_loses_no_row(tmp_path: Path) -> None:
    values = rows(103)
    devices = draw_devices(read_subset(subset(tmp_path, values, np.arange(103))), 1, "random", 5, "common", devices=4)
    assert sum(device.training.y.size + device.y.size for device in devices) == 103


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a file"):
        read_subset(tmp_path / "nowhere")
    trajectory = read_subset(subset(tmp_path, rows(60), np.arange(60)))
    with pytest.raises(DataError, match="output 8: there are 1 to 7"):
        draw_devices(trajectory, 8, "random", 0, "own")
    with pytest.raises(DataError, match="no split is named 'time'"):
        draw_devices(trajectory, 1, "time", 0, "own")
    with pytest.raises(DataError, match="no scaling is named 'none'"):
        draw_devices(trajectory, 1, "random", 0, "none")


def test_a_file_without_places_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no column 'row'"):
        read_subset(subset(tmp_path, rows(3), np.arange(3), ",".join(["place", *NAMES[1:]])))


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def _no_archive(path: Path) -> None:
    path.write_text("row,q0")


def _broken_inside(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[200:260] = bytes(60)
    path.write_bytes(whole)


def _words(path: Path) -> None:
    path.write_bytes(gzip.compress((",".join(NAMES) + "\none,two\n").encode()))


def _fewer_numbers_than_names(path: Path) -> None:
    path.write_bytes(gzip.compress((",".join([*NAMES[1:], "row"]) + "\n1,2\n3,4\n").encode()))


def _other_characters(path: Path) -> None:
    path.write_bytes(gzip.compress(b"row,\xff\xfe\n1,2\n"))


@pytest.mark.parametrize(
    "spoil", [_cut, _no_archive, _broken_inside, _words, _fewer_numbers_than_names, _other_characters]
)
def test_a_spoilt_subset_is_named(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    path = subset(tmp_path, rows(30), np.arange(30)) / "sarcos" / "sarcos_derived_rows.csv.gz"
    spoil(path)
    with pytest.raises(DataError, match=r"sarcos_derived_rows\.csv\.gz: "):
        read_subset(tmp_path)


def _as_hdf5(path: Path) -> None:
    # A file of MATLAB 7.3 has version 2 in its header, and HDF5 behind it, which SciPy does not read.
    whole = bytearray(path.read_bytes())
    whole[124:126] = b"\x00\x02"
    path.write_bytes(whole)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _of_words(path: Path) -> None:
    savemat(path, {"sarcos_inv": np.array(["some", "words"])})


@pytest.mark.parametrize("spoil", [_cut, _no_archive, _as_hdf5, _empty, _of_words])
def test_a_spoilt_whole_file_is_named(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    path = subset(tmp_path, rows(5), np.arange(5)) / "sarcos" / "sarcos_inv.mat"
    savemat(path, {"sarcos_inv": rows(40)})
    spoil(path)
    with pytest.raises(DataError, match=r"sarcos_inv\.mat: "):
        read_whole(tmp_path)


def test_a_whole_file_without_its_variable_is_named(tmp_path: Path) -> None:
    path = subset(tmp_path, rows(5), np.arange(5)) / "sarcos" / "sarcos_inv.mat"
    savemat(path, {"sarcos": rows(40)})
    with pytest.raises(DataError, match="no variable 'sarcos_inv'"):
        read_whole(tmp_path)


@pytest.mark.data
def test_the_real_subset(real_data: Path) -> None:
    trajectory = read_subset(real_data)
    assert len(trajectory.X) == 12_901
    devices = draw_devices(trajectory, 1, "random", 0, "common")
    assert {device.training.y.size + device.y.size for device in devices} <= {516, 517, 1779, 1780}

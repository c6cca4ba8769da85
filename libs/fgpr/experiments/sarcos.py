"""SARCOS, the inverse dynamics of a robot arm: 21 inputs, 7 torques, dealt to 25 devices at random or in blocks.

The subset is `sarcos/sarcos_derived_rows.csv.gz`: 12,901 rows, each with its place in the whole training file, which is
`sarcos/sarcos_inv.mat`. The official test file repeats training rows, so that nothing is tested on it: each device
keeps a share of its own rows for that.
"""

import gzip
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat
from scipy.io.matlab import MatReadError

from fgpr.errors import DataError
from fgpr.experiments.folder import present
from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array
from fgpr.gp.scaling import TargetScaling

SPLITS = ("random", "blocks")
"""Rows dealt to devices and to training and test at random, as the paper does; or contiguous pieces of the trajectory,
the end of each kept for testing."""

DEVICES = 25
OUTPUTS = (1, 3, 5, 7)
TEST_SHARE = 0.1
"""About that of the paper: 180 test rows beside 1,850."""

INPUTS, TORQUES = 21, 7

_VARIABLE = "sarcos_inv"
_UNREADABLE = (MatReadError, OSError, EOFError, zlib.error, ValueError, TypeError, NotImplementedError)
"""What `loadmat` raises for a file that is cut off, of another form, or of MATLAB 7.3."""


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """Rows in the order of time.

    Attributes:
        X: positions, velocities, accelerations, shape (n, 21).
        torques: shape (n, 7).
    """

    X: Array
    torques: Array


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """One device; inputs and target scaled by its own training rows.

    Attributes:
        training: its training rows.
        X: inputs of its test rows, shape (m, 21).
        y: their targets, shape (m,).
    """

    training: LocalData
    X: Array
    y: Array


@lru_cache(maxsize=1)
def read_whole(folder: Path) -> Trajectory:
    """All 44,484 training rows.

    Raises:
        DataError: the file is not there, or not of this form.
    """
    whole = present(folder / "sarcos" / "sarcos_inv.mat")
    return _trajectory(_matrix(whole), whole)


@lru_cache(maxsize=1)
def read_subset(folder: Path) -> Trajectory:
    """The 12,901 rows of the subset.

    Raises:
        DataError: the file is not there, or not of this form.
    """
    subset = present(folder / "sarcos" / "sarcos_derived_rows.csv.gz")
    try:
        with gzip.open(subset, "rt", encoding="utf-8") as file:
            names = file.readline().strip().split(",")
            rows = np.loadtxt(file, delimiter=",", ndmin=2)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise DataError(f"{subset}: {error}") from error
    if "row" not in names:
        raise DataError(f"{subset}: no column 'row', the place of each row in the whole file")
    if rows.shape[1] != len(names):
        raise DataError(f"{subset}: {len(names)} names of columns over {rows.shape[1]} numbers a row")
    place = names.index("row")
    order = np.argsort(rows[:, place])
    return _trajectory(np.delete(rows, place, axis=1)[order], subset)


def draw_devices(
    trajectory: Trajectory, output: int, split: str, seed: int, devices: int = DEVICES
) -> tuple[Device, ...]:
    """The devices of one output.

    Args:
        trajectory: all rows.
        output: number of the torque, 1 to 7.
        split: how rows are dealt.
        seed: of the random split; blocks are the same for each seed.
        devices: how many.

    Raises:
        DataError: no such output or split.
    """
    if not 1 <= output <= TORQUES:
        raise DataError(f"output {output}: there are 1 to {TORQUES}")
    if split not in SPLITS:
        raise DataError(f"no split is named {split!r}; there are {', '.join(SPLITS)}")
    count = len(trajectory.X)
    rng = np.random.default_rng(seed)
    order = rng.permutation(count) if split == "random" else np.arange(count)
    return tuple(
        _device(f"device-{number:02d}", trajectory, output, places)
        for number, places in enumerate(np.array_split(order, devices), start=1)
    )


def _device(name: str, trajectory: Trajectory, output: int, places: NDArray[np.intp]) -> Device:
    cut = len(places) - round(TEST_SHARE * len(places))
    known, hidden = places[:cut], places[cut:]
    X, y = trajectory.X[known], trajectory.torques[known, output - 1]
    middle, spread = X.mean(axis=0), X.std(axis=0)
    if not (spread > 0.0).all():
        raise DataError(f"{name}: input {int(np.argmin(spread)) + 1} stands still in its training rows")
    scaling = TargetScaling.fit(y, "standardise")
    return Device(
        LocalData(name, (X - middle) / spread, scaling.to_scaled(y)),
        (trajectory.X[hidden] - middle) / spread,
        scaling.to_scaled(trajectory.torques[hidden, output - 1]),
    )


def _matrix(path: Path) -> Array:
    """What the MATLAB file calls sarcos_inv."""
    try:
        return np.asarray(loadmat(path, variable_names=[_VARIABLE])[_VARIABLE], dtype=np.float64)
    except KeyError as error:
        raise DataError(f"{path}: no variable {_VARIABLE!r}") from error
    except _UNREADABLE as error:
        raise DataError(f"{path}: {error}") from error


def _trajectory(rows: Array, path: Path) -> Trajectory:
    if rows.ndim != 2 or rows.shape[1] != INPUTS + TORQUES or not np.isfinite(rows).all():
        raise DataError(f"{path}: expected {INPUTS + TORQUES} finite numbers a row, found shape {rows.shape}")
    return Trajectory(rows[:, :INPUTS], rows[:, INPUTS:])

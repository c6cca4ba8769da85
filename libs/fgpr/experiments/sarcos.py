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
from typing import NamedTuple

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

SCALINGS = ("common", "own")
"""By all devices' training rows, so that one function or one length-scale is the same for all; or by each one's own."""

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
    """One device, its inputs and target scaled.

    Attributes:
        training: its training rows.
        X: inputs of its test rows, shape (m, 21).
        y: their targets, shape (m,).
        sd: of its own training targets, in the unit of `y`.
    """

    training: LocalData
    X: Array
    y: Array
    sd: float

    def rmse(self, mean: Array) -> float:
        """Of a prediction at its test rows, shape (m,), in sds of its own training targets, as the paper's figures."""
        return float(np.sqrt(np.mean((mean - self.y) ** 2))) / self.sd


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
    trajectory: Trajectory, output: int, split: str, seed: int, scaling: str, devices: int = DEVICES
) -> tuple[Device, ...]:
    """The devices of one output.

    Args:
        trajectory: all rows.
        output: number of the torque, 1 to 7.
        split: how rows are dealt.
        seed: of the random split; blocks are the same for each seed.
        scaling: by whose training rows inputs and target are standardised.
        devices: how many.

    Raises:
        DataError: no such output, split or scaling, or an input or target that stands still.
    """
    if not 1 <= output <= TORQUES:
        raise DataError(f"output {output}: there are 1 to {TORQUES}")
    for kind, name, known in (("split", split, SPLITS), ("scaling", scaling, SCALINGS)):
        if name not in known:
            raise DataError(f"no {kind} is named {name!r}; there are {', '.join(known)}")
    count = len(trajectory.X)
    rng = np.random.default_rng(seed)
    order = rng.permutation(count) if split == "random" else np.arange(count)
    dealt = [_kept(places) for places in np.array_split(order, devices)]
    names = [f"device-{number:02d}" for number in range(1, devices + 1)]
    if scaling == "common":
        scales = [_Scale.of("all devices", trajectory, output, np.concatenate([known for known, _ in dealt]))] * devices
    else:
        scales = [_Scale.of(name, trajectory, output, known) for name, (known, _) in zip(names, dealt, strict=True)]
    return tuple(
        _device(name, trajectory, output, places, scale)
        for name, places, scale in zip(names, dealt, scales, strict=True)
    )


class _Scale(NamedTuple):
    """Means and standard deviations of inputs and target; for a common one devices need to share sums alone."""

    middle: Array
    spread: Array
    target: TargetScaling

    @classmethod
    def of(cls, name: str, trajectory: Trajectory, output: int, places: NDArray[np.intp]) -> "_Scale":
        """Of these rows."""
        X = trajectory.X[places]
        spread = X.std(axis=0)
        if not (spread > 0.0).all():
            raise DataError(f"{name}: input {int(np.argmin(spread)) + 1} stands still in its training rows")
        return cls(X.mean(axis=0), spread, TargetScaling.fit(trajectory.torques[places, output - 1], "standardise"))

    def scaled(self, trajectory: Trajectory, output: int, places: NDArray[np.intp]) -> tuple[Array, Array]:
        """Inputs and targets of these rows."""
        X = (trajectory.X[places] - self.middle) / self.spread
        return X, self.target.to_scaled(trajectory.torques[places, output - 1])


def _kept(places: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """A device's training and test rows."""
    cut = len(places) - round(TEST_SHARE * len(places))
    return places[:cut], places[cut:]


def _device(
    name: str, trajectory: Trajectory, output: int, dealt: tuple[NDArray[np.intp], NDArray[np.intp]], scale: _Scale
) -> Device:
    (X, y), (new, truth) = (scale.scaled(trajectory, output, places) for places in dealt)
    own = TargetScaling.fit(y, "standardise")
    if own.constant:
        raise DataError(f"{name}: torque {output} stands still in its training rows, so that no error has a unit")
    return Device(LocalData(name, X, y), new, truth, own.sd)


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

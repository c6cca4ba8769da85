"""NASA C-MAPSS FD001 as the paper splits it: 60 engines train, 40 new ones know a random half of their cycles."""

import warnings
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fgpr.errors import DataError
from fgpr.experiments.folder import present
from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array
from fgpr.gp.scaling import TargetScaling

SENSORS = (2, 3, 4, 7, 8, 9, 11, 12, 13, 14, 15, 17, 20, 21)
"""The 14 informative ones: those of FD001 that neither stand still nor, as sensor 6 does, take two values only."""

TRAINING, NEW = 60, 40
_COLUMNS = 26
_FIRST_SENSOR = 4
"""The column before sensor 1, counted from 0: unit, cycle, three settings, and then the sensors."""


@dataclass(frozen=True, slots=True, eq=False)
class NewEngine:
    """An engine that comes when training is over; targets scaled by the rows that it knows, so that none leaks.

    Attributes:
        known: the rows to condition on.
        X: cycles of the rows to predict, over `cycles`, shape (m, 1).
        y: the sensor there, shape (m,).
    """

    known: LocalData
    X: Array
    y: Array


@dataclass(frozen=True, slots=True, eq=False)
class Engines:
    """One sensor of all engines.

    Attributes:
        training: one client an engine.
        new: those that come later.
        cycles: the longest life; inputs are cycles over it.
    """

    training: tuple[LocalData, ...]
    new: tuple[NewEngine, ...]
    cycles: float


@lru_cache(maxsize=2)
def read(path: Path) -> Array:
    """All rows of a C-MAPSS text file, shape (rows, 26), packed by gzip or not.

    Raises:
        DataError: no such file, one that is cut off or empty, or not 26 numbers a line.
    """
    file = present(path, (f"{path.name}.gz",))
    try:
        with warnings.catch_warnings():
            # NumPy warns of a file without rows, which is refused below.
            warnings.simplefilter("ignore", UserWarning)
            rows = np.loadtxt(file, ndmin=2)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise DataError(f"{file}: {error}") from error
    if not rows.size:
        raise DataError(f"{file}: no rows")
    if rows.shape[1] != _COLUMNS or not np.isfinite(rows).all():
        raise DataError(f"{file}: {rows.shape[1]} numbers a line, expected {_COLUMNS}, all finite")
    rows.flags.writeable = False
    return rows


def read_engines(folder: Path) -> Array:
    """All rows of FD001's training file in the folder of the data sets, as `read` has them.

    Raises:
        DataError: as `read`.
    """
    return read(folder / "cmapss" / "train_FD001.txt")


def draw_engines(folder: Path, sensor: int, seed: int) -> Engines:
    """The engines of one sensor, dealt by the seed.

    Args:
        folder: of the data sets.
        sensor: 1 to 21.
        seed: of the deal and of each new engine's halves.

    Raises:
        DataError: no such sensor, one that stands still in an engine, or too few engines.
    """
    if not 1 <= sensor <= _COLUMNS - _FIRST_SENSOR - 1:
        raise DataError(f"sensor {sensor}: there are 1 to {_COLUMNS - _FIRST_SENSOR - 1}")
    rows = read_engines(folder)
    units = np.unique(rows[:, 0])
    if units.size < TRAINING + NEW:
        raise DataError(f"{units.size} engines, {TRAINING + NEW} are needed")
    rng = np.random.default_rng(seed)
    order = rng.permutation(units)[: TRAINING + NEW]
    cycles = float(rows[:, 1].max())
    engines = [_engine(rows, unit, sensor, cycles) for unit in order]
    training = tuple(_trained(engine) for engine in engines[:TRAINING])
    return Engines(training, tuple(_halved(engine, rng) for engine in engines[TRAINING:]), cycles)


def _engine(rows: Array, unit: float, sensor: int, cycles: float) -> LocalData:
    """One engine with its sensor as measured."""
    life = rows[rows[:, 0] == unit]
    return LocalData(f"engine-{unit:03.0f}", life[:, 1:2] / cycles, life[:, _FIRST_SENSOR + sensor])


def _scaling(engine: LocalData, rows: NDArray[np.intp] | None = None) -> TargetScaling:
    scaling = TargetScaling.fit(engine.y if rows is None else engine.y[rows], "standardise")
    if scaling.constant:
        raise DataError(f"{engine.client}: the sensor stands still, so nothing can be learned from it")
    return scaling


def _trained(engine: LocalData) -> LocalData:
    return LocalData(engine.client, engine.X, _scaling(engine).to_scaled(engine.y))


def _halved(engine: LocalData, rng: np.random.Generator) -> NewEngine:
    order = rng.permutation(engine.y.size)
    known, hidden = np.sort(order[: engine.y.size // 2]), np.sort(order[engine.y.size // 2 :])
    y = _scaling(engine, known).to_scaled(engine.y)
    return NewEngine(LocalData(engine.client, engine.X[known], y[known]), engine.X[hidden], y[hidden])

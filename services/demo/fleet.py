"""The engines of a demonstration: who trains, who comes new, and which cycles of a new one are known.

Each engine keeps its rows in a CSV file of its own, as an engine's owner would; nobody else reads it.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from client_agent.cmapss import read_cmapss
from demo import turbofan
from fgpr.errors import DataError
from fgpr.gp.arrays import Array

FEATURE = "cycle"
ROOM = 50
"""The declared range of the cycles ends at the next multiple of this."""


@dataclass(frozen=True, eq=False)
class Engine:
    """One engine's sensor over its life.

    Attributes:
        name: its party id.
        cycles: shape [n].
        values: the sensor, shape [n].
    """

    name: str
    cycles: Array
    values: Array


@dataclass(frozen=True, eq=False)
class NewEngine:
    """An engine that comes when the prior is learned.

    Attributes:
        known: the rows that it has, a random half.
        hidden: the rows to predict.
    """

    known: Engine
    hidden: Engine


@dataclass(frozen=True, eq=False)
class Fleet:
    """All engines of a demonstration.

    Attributes:
        sensor: the column that is predicted.
        clients: engines that train together, with all their rows.
        new: engines that come later.
        upper: end of the declared range of the cycles.
    """

    sensor: str
    clients: tuple[Engine, ...]
    new: tuple[NewEngine, ...]
    upper: float


def gather(data: Path | None, sensor: int, clients: int, new: int, seed: int) -> Fleet:
    """Draw a fleet by its seed, from a C-MAPSS file or from the built-in generator.

    Args:
        data: a C-MAPSS text file, or None.
        sensor: number of the sensor, 1 to 21.
        clients: engines that train.
        new: engines that come later.
        seed: of every random choice here.

    Raises:
        DataError: fewer engines than asked for, or no such sensor.
    """
    rng = np.random.default_rng(seed)
    column = f"s{sensor}"
    lives = _from_file(data) if data is not None else turbofan.engines(clients + new, rng)
    if len(lives) < clients + new:
        raise DataError(f"{data} has {len(lives)} engines; {clients} clients and {new} new engines were asked for")
    if column not in lives[0]:
        known = ", ".join(name for name in lives[0] if name.startswith("s") and name[1:].isdecimal())
        raise DataError(f"there is no sensor {sensor} in these data; there are {known}")
    order = rng.permutation(len(lives))[: clients + new]
    drawn = [_engine(lives[place], column) for place in order]
    return Fleet(
        sensor=column,
        clients=tuple(drawn[:clients]),
        new=tuple(_halve(engine, rng) for engine in drawn[clients:]),
        upper=float(ROOM * np.ceil(max(engine.cycles.max() for engine in drawn) / ROOM)),
    )


def write_csv(path: Path, engine: Engine, sensor: str) -> None:
    """Put an engine's rows into its own file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([FEATURE, sensor])
        writer.writerows(zip(engine.cycles.tolist(), engine.values.tolist(), strict=True))


def _from_file(path: Path) -> list[dict[str, Array]]:
    read = read_cmapss(path)
    return [read.engine(unit) for unit in read.engines]


def _engine(life: Mapping[str, Array], column: str) -> Engine:
    return Engine(f"engine-{int(life['unit'][0]):03d}", life[FEATURE], life[column])


def _halve(engine: Engine, rng: np.random.Generator) -> NewEngine:
    order = rng.permutation(engine.cycles.size)
    half = engine.cycles.size // 2
    return NewEngine(_rows(engine, order[:half]), _rows(engine, order[half:]))


def _rows(engine: Engine, places: Sequence[int] | np.ndarray) -> Engine:
    places = np.sort(places)
    return Engine(engine.name, engine.cycles[places], engine.values[places])

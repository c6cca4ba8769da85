"""Runs cells on several processes, and appends each record to a file as soon as it is there."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from threadpoolctl import threadpool_limits

from fgpr.errors import DataError, FgprError
from fgpr.experiments.catalogue import experiment_named
from fgpr.experiments.records import Cell, Record, read_records, remaining, versions
from fgpr.experiments.workers import Engine, records_of

Told = Callable[[Record], None]


def shard_of(cells: Sequence[Cell], number: int, count: int) -> list[Cell]:
    """Every count-th cell from the number-th on, so that several machines run an experiment without talking.

    Raises:
        DataError: there is no such part.
    """
    if not 1 <= number <= count:
        raise DataError(f"part {number} of {count}: expected 1 to {count}")
    return list(cells[number - 1 :: count])


def to_do(cells: Sequence[Cell], path: Path) -> list[Cell]:
    """The cells that the file has no record of."""
    systems = {cell.system: dict(experiment_named(cell.experiment).system(cell.system).settings) for cell in cells}
    return remaining(cells, systems, read_records([path]))


def run_cells(
    cells: Sequence[Cell], path: Path, jobs: int, told: Told, engine: Engine = "joblib", address: str | None = None
) -> int:
    """Run them all.

    Args:
        cells: to run; see `to_do`.
        path: of the JSON lines; each record is on disk before it is told.
        jobs: processes, each with one BLAS thread.
        told: hears of each record.
        engine: what starts them.
        address: of a Ray cluster.

    Returns:
        How many had an error; those are run again next time.

    Raises:
        DataError: the engine cannot start.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _mend(path)
    failed = 0
    records = records_of(cells, run_cell, jobs, engine, address)
    with path.open("a", encoding="utf-8") as file:
        for record in records:
            file.write(record.line + "\n")
            file.flush()
            os.fsync(file.fileno())
            failed += record.error is not None
            told(record)
    return failed


def run_cell(cell: Cell) -> Record:
    """One cell, with one BLAS thread; what goes wrong in it is kept in its record."""
    experiment = experiment_named(cell.experiment)
    settings = experiment.system(cell.system).settings
    begun = time.process_time()
    try:
        with threadpool_limits(1):
            values = experiment.run(cell)
    except FgprError as error:
        return Record(cell, settings, {}, time.process_time() - begun, versions(), f"{type(error).__name__}: {error}")
    return Record(cell, settings, values, time.process_time() - begun, versions())


def _mend(path: Path) -> None:
    """Cut off a last line that has no end: its writer was killed."""
    if not path.is_file():
        return
    whole = path.read_bytes()
    if whole and not whole.endswith(b"\n"):
        path.write_bytes(whole[: whole.rfind(b"\n") + 1])

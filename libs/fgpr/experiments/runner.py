"""Runs cells on several processes, and appends each record to a file as soon as it is there."""

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from fgpr.errors import DataError, FgprError
from fgpr.experiments.catalogue import experiment_named, settings_of
from fgpr.experiments.deep import LIBRARY_ERRORS
from fgpr.experiments.records import Cell, Record, read_records, remaining, versions
from fgpr.experiments.workers import Engine, records_of

_DEAL = 1
"""The seed of the order in which machines are dealt their parts; all of them need the same."""

_FAILURES: tuple[type[Exception], ...] = (FgprError, np.linalg.LinAlgError, *LIBRARY_ERRORS)
"""What a cell may fail by without ending the work of hours; anything else is a fault of the code."""

Told = Callable[[Record], None]


def shard_of(cells: Sequence[Cell], number: int, count: int) -> list[Cell]:
    """One of `count` parts of the cells, so that several machines run an experiment without talking.

    Cells are dealt in an order that is mixed in the same way on every machine: dealt in their own, five parts of five
    systems would be one system each.

    Raises:
        DataError: there is no such part.
    """
    if not 1 <= number <= count:
        raise DataError(f"part {number} of {count}: expected 1 to {count}")
    mine = set(sorted(cells, key=_mixed)[number - 1 :: count])
    return [cell for cell in cells if cell in mine]


def _mixed(cell: Cell) -> bytes:
    # A digest and no generator of random numbers, whose order might change with its version.
    return hashlib.sha256(
        f"{_DEAL} {cell.experiment} {cell.item} {cell.variant} {cell.system} {cell.seed}".encode()
    ).digest()


def to_do(cells: Sequence[Cell], folder: Path) -> list[Cell]:
    """The cells that no file of their experiment in the folder has a record of.

    Raises:
        DataError: a file holds something else than records.
    """
    files = [file for name in sorted({cell.experiment for cell in cells}) for file in results_of(name, folder)]
    return remaining(cells, {cell.system: settings_of(cell) for cell in cells}, read_records(files))


def results_of(name: str, folder: Path) -> list[Path]:
    """The files of one experiment in a folder of results: its own, and those of machines that did a part of it."""
    # No other experiment's, whose name may begin with this one.
    return sorted(file for pattern in (f"{name}.jsonl", f"{name}.*-of-*.jsonl") for file in folder.glob(pattern))


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
        DataError: the engine cannot start, or a process of joblib was killed.
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
    run, settings = experiment_named(cell.experiment).run, settings_of(cell)
    begun = time.process_time()
    try:
        with threadpool_limits(1):
            values = run(cell)
    except _FAILURES as error:
        return Record(cell, settings, {}, time.process_time() - begun, versions(), f"{type(error).__name__}: {error}")
    return Record(cell, settings, values, time.process_time() - begun, versions())


def _mend(path: Path) -> None:
    """Cut off a last line that has no end: its writer was killed."""
    if not path.is_file():
        return
    whole = path.read_bytes()
    if whole and not whole.endswith(b"\n"):
        path.write_bytes(whole[: whole.rfind(b"\n") + 1])

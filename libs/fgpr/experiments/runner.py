"""Runs cells on several processes, and appends each record to a file as soon as it is there."""

import hashlib
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from fgpr.errors import DataError, FgprError, NumericalError
from fgpr.experiments import engines, sarcos
from fgpr.experiments.catalogue import experiment_named, settings_of
from fgpr.experiments.current import check_curves
from fgpr.experiments.deep import library_errors
from fgpr.experiments.fields import fault_of_values
from fgpr.experiments.folder import data_folder
from fgpr.experiments.late import load_installed
from fgpr.experiments.records import Cell, Record, read_records, remaining, versions
from fgpr.experiments.workers import Engine, records_of

_DEAL = 1
"""The seed of the order in which machines are dealt their parts; all of them need the same."""

_FAILURES: tuple[type[Exception], ...] = (FgprError, np.linalg.LinAlgError)
"""What a cell may fail by, beside `library_errors`, without ending the work of hours; the rest is a fault of code."""

DATA: Mapping[str, Callable[[Path], object]] = {
    "table2": engines.read_engines,
    "table3": sarcos.read_subset,
    "table3-whole": sarcos.read_whole,
}
"""By experiment, what reads its data."""

Told = Callable[[Record], None]


def part_of(text: str) -> tuple[int, int]:
    """The number of a part and how many there are, of a text like 2/5.

    Raises:
        DataError: it is no such text.
    """
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    if found is None:
        raise DataError(f"--shard {text}: expected a part and their number, as in 2/5")
    return int(found[1]), int(found[2])


def shard_of(cells: Sequence[Cell], number: int, count: int) -> list[Cell]:
    """One of `count` parts of the cells, so that several machines run an experiment without talking.

    Cells are dealt in an order that is mixed in the same way on every machine: dealt in their own, five parts of five
    systems would be one system each.

    Raises:
        DataError: there is no such part.
    """
    if count < 1:
        raise DataError(f"part {number} of {count}: expected at least 1 part")
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
    records = read_records(files)
    check_curves(records)
    return remaining(cells, {cell.system: settings_of(cell) for cell in cells}, records)


def check_data(cells: Sequence[Cell]) -> None:
    """Nothing, if the data of these cells can be read here: one refusal in place of a failure of each cell.

    Raises:
        DataError: there are none, or the file is spoilt; says what to do.
    """
    for name in sorted({cell.experiment for cell in cells} & DATA.keys()):
        DATA[name](data_folder())


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
    experiment, settings = experiment_named(cell.experiment), settings_of(cell)
    if experiment.system(cell.system).needs_torch:
        # Before the limit of threads, which holds for what is loaded by then; and it is no work of this cell.
        load_installed("torch", "gpytorch")
    begun = time.process_time()
    try:
        with threadpool_limits(1):
            values = experiment.run(cell)
        if fault := fault_of_values(values):
            raise NumericalError(f"no result: {fault}")
    except (*_FAILURES, *library_errors()) as error:
        return Record(cell, settings, {}, time.process_time() - begun, versions(), f"{type(error).__name__}: {error}")
    return Record(cell, settings, values, time.process_time() - begun, versions())


def _mend(path: Path) -> None:
    """Cut off a last line that has no end: its writer was killed. What stands before it is not written again."""
    if not path.is_file():
        return
    with path.open("r+b") as file:
        whole = file.read()
        end = whole.rfind(b"\n") + 1
        if end < len(whole):
            file.truncate(end)

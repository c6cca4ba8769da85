"""Where cells run: in this process, in several of this machine (joblib), or on the machines of a Ray cluster.

Ray is optional (extra `ray`, `requirements/ray.txt`). Every machine of the cluster needs this package and, for Tables 2
and 3, the data with an FGPR_DATA of its own; records come back to the machine that asked, and only it writes the file.
"""

import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Literal

import joblib

from fgpr.errors import DataError
from fgpr.experiments.catalogue import settings_of
from fgpr.experiments.records import Cell, Record, versions

Engine = Literal["joblib", "ray"]
ENGINES: tuple[Engine, ...] = ("joblib", "ray")

RunCell = Callable[[Cell], Record]

_WAITING = 2
"""Cells a core of the cluster that are sent ahead: enough that no core is idle, few enough to lose."""


def records_of(
    cells: Sequence[Cell], run_cell: RunCell, jobs: int, engine: Engine = "joblib", address: str | None = None
) -> Iterator[Record]:
    """The records of all cells, each as soon as it is there, in any order.

    Args:
        cells: to run.
        run_cell: runs one; a function that other processes can import.
        jobs: processes on this machine; with an address the cluster has as many as it has cores.
        engine: what starts them.
        address: of a running Ray cluster, such as "10.0.0.1:6379" or "auto"; None starts one on this machine.

    Raises:
        DataError: an address without Ray, Ray is not installed, nothing answers there, or a process of joblib was
            killed.
    """
    if engine == "ray":
        return _over_ray(_ray(), cells, run_cell, jobs, address)
    if address is not None:
        raise DataError(f"--address {address} is for --engine ray")
    if jobs == 1:
        return map(run_cell, cells)
    return _over_joblib(cells, run_cell, jobs)


def _over_joblib(cells: Sequence[Cell], run_cell: RunCell, jobs: int) -> Iterator[Record]:
    try:
        yield from joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")(
            joblib.delayed(run_cell)(cell) for cell in cells
        )
    except BrokenProcessPool as error:
        raise DataError(
            "a worker process was killed, perhaps for want of memory; the records so far are kept, and the same "
            "command goes on where this one stopped"
        ) from error


def _ray() -> Any:
    # Ray would report its use to its makers.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        return importlib.import_module("ray")
    except ModuleNotFoundError as error:
        raise DataError(
            "--engine ray needs Ray, which is not installed: pip install -r requirements/ray.txt, or fgpr[ray]"
        ) from error


def _over_ray(ray: Any, cells: Sequence[Cell], run_cell: RunCell, jobs: int, address: str | None) -> Iterator[Record]:
    local = {"num_cpus": jobs, "include_dashboard": False} if address is None else {}
    try:
        try:
            ray.init(address=address, log_to_driver=False, logging_level="warning", **local)
        except Exception as error:  # what Ray raises here has no type of its own
            if address is None:
                raise DataError(f"no Ray cluster on this machine: {error}") from error
            raise DataError(
                f"no Ray cluster at {address}: {error}; if it asks for a token, set RAY_AUTH_MODE=token and put what "
                "`ray get-auth-token` prints there into ~/.ray/auth_token here"
            ) from error
        remote = ray.remote(num_cpus=1)(run_cell)
        ahead = max(1, _WAITING * int(ray.cluster_resources().get("CPU", 1)))
        left, running = iter(cells), dict[Any, Cell]()
        while True:
            for cell in left:
                running[remote.remote(cell)] = cell
                if len(running) >= ahead:
                    break
            if not running:
                return
            for reference in ray.wait(list(running), num_returns=1)[0]:
                yield _collected(ray, reference, running.pop(reference))
    finally:
        ray.shutdown()


def _collected(ray: Any, reference: Any, cell: Cell) -> Record:
    """The record, or that of a machine that was lost: its cell is run again next time."""
    try:
        record: Record = ray.get(reference)
    except ray.exceptions.RayTaskError:
        raise
    except ray.exceptions.RayError as error:
        return Record(cell, settings_of(cell), {}, 0.0, versions(), f"{type(error).__name__}: the worker was lost")
    return record

"""Where cells run: the same records from a Ray cluster, lost workers, and a clear word where Ray is not."""

import importlib.util
import os
import signal
import sys
from collections.abc import Iterator

import pytest

from fgpr.errors import DataError
from fgpr.experiments import workers
from fgpr.experiments.catalogue import settings_of
from fgpr.experiments.records import Cell, Record
from fgpr.experiments.runner import run_cell
from fgpr.experiments.workers import records_of

CELLS = [Cell("table1", "CURRIN", "uniform", "separate", seed) for seed in (1, 2, 3)]
with_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed (requirements/ray.txt)"
)


def test_without_ray_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(DataError, match="needs Ray, which is not installed"):
        records_of(CELLS, run_cell, 1, "ray")


def test_an_address_is_for_ray_alone() -> None:
    with pytest.raises(DataError, match="--address auto is for --engine ray"):
        records_of(CELLS, run_cell, 1, "joblib", "auto")


@pytest.mark.slow
def test_a_worker_that_is_killed_ends_the_run_in_one_sentence() -> None:
    # A function of its own, which the workers get by value.
    def killed(cell: Cell) -> Record:
        if cell.seed == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return Record(cell, {}, {"rmse": 1.0}, 0.0)

    with pytest.raises(DataError, match=r"worker process was killed.* goes on where this one stopped"):
        list(records_of(CELLS, killed, 2))


class _Cluster:
    """What is asked of the ray module, in this process: two cores, and workers that may be lost."""

    class exceptions:  # noqa: N801 - its name in ray
        class RayError(Exception):
            pass

        class RayTaskError(RayError):
            pass

    def __init__(self, lost: tuple[int, ...] = (), broken: tuple[int, ...] = ()) -> None:
        self.lost, self.broken = lost, broken
        self.running = self.most = 0
        self.up: list[str] = []

    def init(self, address: str | None, **_settings: object) -> None:
        if address == "nowhere:1":
            raise ConnectionError("timed out")
        self.up.append("up")

    def shutdown(self) -> None:
        self.up.append("down")

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def remote(self, num_cpus: int) -> object:
        assert num_cpus == 1
        cluster = self

        class Wrapped:
            def __init__(self, function: object) -> None:
                self.function = function

            def remote(self, cell: Cell) -> Cell:
                cluster.running += 1
                cluster.most = max(cluster.most, cluster.running)
                return cell

        return Wrapped

    def wait(self, references: list[Cell], num_returns: int) -> tuple[list[Cell], list[Cell]]:
        self.running -= num_returns
        return references[-num_returns:], references[:-num_returns]

    def get(self, cell: Cell) -> Record:
        if cell.seed in self.lost:
            raise self.exceptions.RayError("node died")
        if cell.seed in self.broken:
            raise self.exceptions.RayTaskError("a fault of the code")
        return Record(cell, {}, {"rmse": 1.0}, 0.0)


def _records(monkeypatch: pytest.MonkeyPatch, cluster: _Cluster, cells: list[Cell]) -> Iterator[Record]:
    monkeypatch.setattr(workers, "_ray", lambda: cluster)
    return records_of(cells, run_cell, 1, "ray")


def test_each_cell_comes_back_once_and_few_are_sent_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [Cell("table1", "CURRIN", "uniform", "separate", seed) for seed in range(23)]
    cluster = _Cluster()
    found = [record.cell.seed for record in _records(monkeypatch, cluster, cells)]
    assert sorted(found) == list(range(23))
    assert cluster.most == 4
    assert cluster.up == ["up", "down"]


def test_a_lost_worker_is_an_error_of_its_cell_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {record.cell.seed: record for record in _records(monkeypatch, _Cluster(lost=(2,)), CELLS)}
    assert found[2].error == "RayError: the worker was lost"
    assert found[2].settings == settings_of(CELLS[1])
    assert found[1].error is None
    assert found[3].error is None


def test_a_fault_of_the_code_ends_the_run_and_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = _Cluster(broken=(1,))
    with pytest.raises(_Cluster.exceptions.RayTaskError):
        list(_records(monkeypatch, cluster, CELLS))
    assert cluster.up == ["up", "down"]


def test_a_cluster_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = _Cluster()
    monkeypatch.setattr(workers, "_ray", lambda: cluster)
    with pytest.raises(
        DataError, match="no Ray cluster at nowhere:1: timed out; if it asks for a token, set RAY_AUTH_MODE=token"
    ):
        list(records_of(CELLS, run_cell, 1, "ray", "nowhere:1"))
    # What had begun to start is stopped.
    assert cluster.up == ["down"]


@with_ray
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_real_cluster_finds_what_one_process_finds() -> None:
    found = {record.cell: record for record in records_of(CELLS, run_cell, 2, "ray")}
    assert {cell: record.values for cell, record in found.items()} == {cell: run_cell(cell).values for cell in CELLS}
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"

"""Runs: resumed where they stopped, on one process or two, failures kept, and experiments as they are listed."""

from pathlib import Path

import pytest

from fgpr.errors import DataError
from fgpr.experiments.catalogue import EXPERIMENTS, experiment_named
from fgpr.experiments.experiment import Experiment
from fgpr.experiments.records import Cell, Record, read_records
from fgpr.experiments.runner import run_cell, run_cells, shard_of, to_do

CELLS = [Cell("table1", "CURRIN", "uniform", "separate", seed) for seed in (1, 2, 3)]


def test_a_run_goes_on_where_it_was_cut(tmp_path: Path) -> None:
    path, told = tmp_path / "deep" / "table1.jsonl", list[Record]()
    assert run_cells(CELLS[:2], path, 1, told.append) == 0
    with path.open("a") as file:
        file.write(told[0].line[:30])
    assert to_do(CELLS, path) == CELLS[2:]
    run_cells(to_do(CELLS, path), path, 1, told.append)
    assert [record.cell for record in read_records([path])] == CELLS
    assert to_do(CELLS, path) == []


def test_two_processes_find_the_same(tmp_path: Path) -> None:
    told = list[Record]()
    run_cells(CELLS[:2], tmp_path / "two.jsonl", 2, told.append)
    alone = {cell: run_cell(cell).values for cell in CELLS[:2]}
    assert {record.cell: record.values for record in told} == alone


def test_a_failure_is_kept_and_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FGPR_DATA", str(tmp_path / "nowhere"))
    cell, told = Cell("table2", "2", "", "fgpr", 1), list[Record]()
    assert run_cells([cell], tmp_path / "table2.jsonl", 1, told.append) == 1
    assert told[0].error is not None
    assert "set FGPR_DATA" in told[0].error
    assert to_do([cell], tmp_path / "table2.jsonl") == [cell]


def test_shards_share_the_work() -> None:
    parts = [shard_of(CELLS, number, 2) for number in (1, 2)]
    assert sorted(cell.seed for part in parts for cell in part) == [1, 2, 3]
    with pytest.raises(DataError, match="part 3 of 2"):
        shard_of(CELLS, 3, 2)


def test_the_seeds_of_table_1_are_fresh_ones() -> None:
    cells = experiment_named("table1").cells(30)
    assert {cell.seed for cell in cells} == set(range(100, 130))
    assert {cell.variant for cell in cells} == {"corners", "uniform", "latin"}


def test_names_that_there_are_not_are_refused() -> None:
    with pytest.raises(DataError, match="no experiment is named 'table9'; there are table1"):
        experiment_named("table9")
    table1 = experiment_named("table1")
    for chosen in ({"systems": ["gpt"]}, {"items": ["ackley"]}, {"variants": ["sobol"]}):
        with pytest.raises(DataError, match="there are"):
            table1.cells(1, **chosen)
    with pytest.raises(DataError, match="0 repeats"):
        table1.cells(0)


@pytest.mark.parametrize("experiment", list(EXPERIMENTS.values()), ids=lambda one: one.name)
def test_every_cell_of_an_experiment_is_named_once(experiment: Experiment) -> None:
    cells = experiment.cells(2)
    assert len(set(cells)) == len(cells) > 0

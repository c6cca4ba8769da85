"""Runs: resumed where they stopped, on one process or two, failures kept, and experiments as they are listed."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fgpr.errors import DataError
from fgpr.experiments.catalogue import EXPERIMENTS, experiment_named
from fgpr.experiments.deep import LIBRARY_ERRORS
from fgpr.experiments.experiment import Experiment, Values
from fgpr.experiments.records import Cell, Record, read_records
from fgpr.experiments.runner import results_of, run_cell, run_cells, shard_of, to_do

CELLS = [Cell("table1", "CURRIN", "uniform", "separate", seed) for seed in (1, 2, 3)]


def test_a_run_goes_on_where_it_was_cut(tmp_path: Path) -> None:
    path, told = tmp_path / "deep" / "table1.jsonl", list[Record]()
    assert run_cells(CELLS[:2], path, 1, told.append) == 0
    with path.open("a") as file:
        file.write(told[0].line[:30])
    assert to_do(CELLS, path.parent) == CELLS[2:]
    run_cells(to_do(CELLS, path.parent), path, 1, told.append)
    assert [record.cell for record in read_records([path])] == CELLS
    assert to_do(CELLS, path.parent) == []


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
    assert to_do([cell], tmp_path) == [cell]


@pytest.mark.parametrize("error", [np.linalg.LinAlgError, *LIBRARY_ERRORS])
def test_what_no_library_can_compute_is_a_failure_of_its_cell_alone(
    error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(cell: Cell) -> Values:
        if cell.seed == 1:
            raise error("not positive definite")
        return {"rmse": 0.5}

    monkeypatch.setitem(EXPERIMENTS, "table1", replace(EXPERIMENTS["table1"], run=broken))
    told = list[Record]()
    assert run_cells(CELLS, tmp_path / "table1.jsonl", 1, told.append) == 1
    assert [record.error for record in told] == [f"{error.__name__}: not positive definite", None, None]
    assert to_do(CELLS, tmp_path) == CELLS[:1]


def test_files_of_an_experiment_are_its_own_and_its_parts(tmp_path: Path) -> None:
    for name in ("table3.jsonl", "table3.2-of-5.jsonl", "table3-whole.jsonl", "table3-whole.1-of-2.jsonl"):
        (tmp_path / name).touch()
    assert [file.name for file in results_of("table3", tmp_path)] == ["table3.2-of-5.jsonl", "table3.jsonl"]


def test_shards_share_the_work() -> None:
    parts = [shard_of(CELLS, number, 2) for number in (1, 2)]
    assert sorted(cell.seed for part in parts for cell in part) == [1, 2, 3]
    with pytest.raises(DataError, match="part 3 of 2"):
        shard_of(CELLS, 3, 2)


def test_every_shard_has_cells_of_every_system() -> None:
    # Table 2 has five systems: dealt in their order, each of five machines would have one of them alone.
    cells = experiment_named("table2").cells(30)
    parts = [shard_of(cells, number, 5) for number in range(1, 6)]
    assert Counter(cell for part in parts for cell in part) == Counter(cells)
    assert {len(part) for part in parts} == {len(cells) // 5}
    for part in parts:
        assert min(Counter(cell.system for cell in part).values()) > 50
        # Each still goes seed by seed.
        assert [cell.seed for cell in part] == sorted(cell.seed for cell in part)


def test_every_machine_deals_alike() -> None:
    # `printf '1 table1 CURRIN uniform separate 3' | sha256sum` is cbd9...; of seed 2 it is e2a2..., of seed 1 e677...
    assert [[cell.seed for cell in shard_of(CELLS, number, 3)] for number in (1, 2, 3)] == [[3], [2], [1]]


def test_files_of_other_machines_count_as_done(tmp_path: Path) -> None:
    run_cells(CELLS[:1], tmp_path / "table1.1-of-2.jsonl", 1, lambda _record: None)
    run_cells(CELLS[1:2], tmp_path / "table1.2-of-2.jsonl", 1, lambda _record: None)
    assert to_do(CELLS, tmp_path) == CELLS[2:]


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


def test_what_is_deterministic_has_one_seed_however_many_are_asked_for() -> None:
    made_up = replace(
        experiment_named("table3"),
        items=("1", "3"),
        deterministic=frozenset({("separate", "blocks"), ("fgpr", "none")}),
    )
    chosen = made_up.cells(3, ["separate", "fgpr"])
    counts = Counter((cell.system, cell.variant, cell.item) for cell in chosen)
    assert {kind: count for kind, count in counts.items() if count != 3} == {
        ("separate", "blocks", "1"): 1,
        ("separate", "blocks", "3"): 1,
    }
    assert {cell.seed for cell in chosen if (cell.system, cell.variant) == ("separate", "blocks")} == {100}


@pytest.mark.parametrize("experiment", list(EXPERIMENTS.values()), ids=lambda one: one.name)
def test_every_cell_of_an_experiment_is_named_once(experiment: Experiment) -> None:
    cells = experiment.cells(2)
    assert len(set(cells)) == len(cells) > 0

"""Runs: resumed where they stopped, on one process or two, failures kept, and experiments as they are listed."""

import importlib
import resource
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from fgpr.errors import DataError
from fgpr.experiments.catalogue import EXPERIMENTS, experiment_named, settings_of
from fgpr.experiments.experiment import Experiment, Values
from fgpr.experiments.late import installed, load_installed
from fgpr.experiments.records import Cell, Record, read_records
from fgpr.experiments.runner import DATA, check_data, part_of, results_of, run_cell, run_cells, shard_of, to_do

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


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("numpy.linalg", "LinAlgError"),
        ("torch.linalg", "LinAlgError"),
        ("linear_operator.utils.errors", "NanError"),
        ("linear_operator.utils.errors", "NotPSDError"),
    ],
)
def test_what_no_library_can_compute_is_a_failure_of_its_cell_alone(
    package: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = package.partition(".")[0]
    if not installed(whole):
        pytest.skip(f"{whole} is not installed (make setup-paper)")
    load_installed(whole)
    error: type[Exception] = getattr(importlib.import_module(package), name)

    def broken(cell: Cell) -> Values:
        if cell.seed == 1:
            raise error("not positive definite")
        return {"rmse": 0.5}

    monkeypatch.setitem(EXPERIMENTS, "table1", replace(EXPERIMENTS["table1"], run=broken))
    told = list[Record]()
    assert run_cells(CELLS, tmp_path / "table1.jsonl", 1, told.append) == 1
    assert [record.error for record in told] == [f"{error.__name__}: not positive definite", None, None]
    assert to_do(CELLS, tmp_path) == CELLS[:1]


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"rmse": float("nan")}, "values.rmse: found NaN, expected a finite number above 0"),
        ({}, "values: found {}, expected what the run found, or else an error"),
    ],
)
def test_what_is_no_result_is_a_failure_and_not_done(
    values: Values, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EXPERIMENTS, "table1", replace(EXPERIMENTS["table1"], run=lambda _cell: values))
    told = list[Record]()
    assert run_cells(CELLS[:1], tmp_path / "table1.jsonl", 1, told.append) == 1
    assert (told[0].error, told[0].values) == (f"NumericalError: no result: {fault}", {})
    assert to_do(CELLS[:1], tmp_path) == CELLS[:1]


def test_a_cut_line_is_taken_off_without_writing_the_others_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EXPERIMENTS, "table1", replace(EXPERIMENTS["table1"], run=lambda _cell: {"rmse": 0.5}))
    path = tmp_path / "table1.jsonl"
    run_cells(CELLS[:2], path, 1, lambda _record: None)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:30])
    # As on a full disk: a file can become shorter, but nothing can be written beyond its first byte.
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, limit[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            run_cells(CELLS[2:], path, 1, lambda _record: None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert path.read_bytes() == whole
    run_cells(CELLS[2:], path, 1, lambda _record: None)
    assert [record.cell for record in read_records([path])] == CELLS


def test_a_file_of_one_cut_line_becomes_empty(tmp_path: Path) -> None:
    path = tmp_path / "table1.jsonl"
    path.write_text('{"experiment": "ta')
    run_cells([], path, 1, lambda _record: None)
    assert path.read_bytes() == b""


def test_a_curve_of_another_length_is_not_done(tmp_path: Path) -> None:
    cell = Cell("example3", "sine", "", "fgpr", 100)
    record = Record(cell, settings_of(cell), {"rmse": 0.1, "curve": [0.1]}, 1.0)
    (tmp_path / "example3.jsonl").write_text(record.line + "\n")
    with pytest.raises(DataError, match=r"example3\.jsonl, line 1: .*values\.curve: found 1 numbers, expected 61"):
        to_do([cell], tmp_path)


def test_every_experiment_with_data_is_checked_before_it_runs() -> None:
    with_data = {name for name, one in EXPERIMENTS.items() if "data_folder" in one.run.__globals__}
    assert with_data == DATA.keys() == {"table2", "table3", "table3-whole"}


@pytest.mark.parametrize("name", ["table2", "table3", "table3-whole"])
def test_data_that_are_not_there_are_refused_and_others_are_not_asked_for(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = experiment_named(name).cells(1)
    monkeypatch.setenv("FGPR_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"is a file; put one there, or set FGPR_DATA"):
        check_data(cells)
    monkeypatch.setenv("FGPR_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="nowhere is no folder; set FGPR_DATA"):
        check_data([*CELLS, *cells])
    check_data(CELLS)
    check_data([])


def test_files_of_an_experiment_are_its_own_and_its_parts(tmp_path: Path) -> None:
    for name in ("table3.jsonl", "table3.2-of-5.jsonl", "table3-whole.jsonl", "table3-whole.1-of-2.jsonl"):
        (tmp_path / name).touch()
    assert [file.name for file in results_of("table3", tmp_path)] == ["table3.2-of-5.jsonl", "table3.jsonl"]


def test_shards_share_the_work() -> None:
    parts = [shard_of(CELLS, number, 2) for number in (1, 2)]
    assert sorted(cell.seed for part in parts for cell in part) == [1, 2, 3]
    for number, count in ((3, 2), (0, 2)):
        with pytest.raises(DataError, match=f"^part {number} of {count}: expected 1 to 2$"):
            shard_of(CELLS, number, count)
    for number in (0, 1):
        with pytest.raises(DataError, match=f"^part {number} of 0: expected at least 1 part$"):
            shard_of(CELLS, number, 0)


def test_a_part_is_two_whole_numbers() -> None:
    assert part_of("2/5") == (2, 5)
    assert part_of("0/0") == (0, 0)
    for text in ("", "2", "a/b", "-1/2", "1/-2", "1/2/3", "1 / 2", "1.0/2", "\u0661/\u0662", "1/" + "9" * 5000):
        with pytest.raises(DataError, match=r"^--shard .*: expected a part and their number, as in 2/5$"):
            part_of(text)


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

"""The page, on records made here: tables, targets, what was left out, hours and pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fgpr.errors import DataError
from fgpr.experiments import paper
from fgpr.experiments.catalogue import EXPERIMENTS, settings_of
from fgpr.experiments.records import Cell, Record
from fgpr.experiments.report import write_report
from fgpr.experiments.theorems import GRADIENT_ROUNDS, NOISE_ROUNDS

POSTERIOR = {"title": "one", "x": [0.0, 1.0], "mean": [0.0, 1.0], "sd": [0.1, 0.2], "truth": [0, 1], "rows": [[0], [0]]}


def record(experiment: str, item: str, variant: str, system: str, seed: int, rmse: float) -> Record:
    return run(Cell(experiment, item, variant, system, seed), {"rmse": rmse, "sd": 0.1, "kernel": "rbf"})


def run(cell: Cell, values: Mapping[str, Any], error: str | None = None) -> Record:
    return Record(cell, settings_of(cell), values, 1.0, {}, error)


def page_of(records: Sequence[Record], folder: Path) -> str:
    path = folder / "all.jsonl"
    path.write_text("".join(one.line + "\n" for one in records))
    write_report([path], folder, "fgpr-experiments run table1")
    return (folder / "experiments.md").read_text()


def test_the_papers_figures_stand_beside_their_systems() -> None:
    assert paper.figure("table1", "BRANIN", "deep") == (0.213, 0.085)
    assert paper.figure("table1", "BRANIN", "fgpr-private") == (0.260, 0.065)
    assert paper.figure("table2", "7", "neural") == (0.671, 0.085)
    assert paper.figure("table3", "7", "fgpr") == (0.238, 0.144)
    assert paper.figure("table2", "3", "fgpr") is None
    # The paper has no polynomial of an engine alone.
    assert paper.figure("table2", "7", "own-polynomial") is None
    assert paper.figure("sines", "sines", "fgpr") is None


def test_the_page_has_tables_targets_choices_and_pictures(tmp_path: Path) -> None:
    records = [
        record("table1", "CURRIN", "corners", "fgpr-evidence", 100, 0.05),
        record("ablation", "0.17", "", "fgpr", 100, 0.05),
        run(
            Cell("theorems", "M=8", "homogeneous", "fgpr", 1),
            {"noise": [1.0 / (t + 1) for t in NOISE_ROUNDS], "gradient": [1.0] * len(GRADIENT_ROUNDS)},
        ),
        run(Cell("example3", "sine", "", "fgpr", 1), {"rmse": 0.1, "curve": [0.3] * 60 + [0.1]}),
        run(Cell("sines", "sines", "", "fgpr", 100), {"rmse": 0.1, "posteriors": [POSTERIOR]}),
        run(
            Cell("example1", "K=20, N=5000", "rbf", "fgpr", 1),
            {"noise": [0.5] * 25 + [0.25], "theta": [4.0] * 25 + [5.0]},
        ),
        run(Cell("table2", "2", "", "fgpr-optimum", 1), {"rmse": 0.67, "sd": 0.1, "noise sd": 0.66}),
        run(Cell("table3", "1", "random", "fgpr", 1), {}, "DataError: none"),
    ]
    path = tmp_path / "all.jsonl"
    path.write_text("".join(one.line + "\n" for one in records))
    written = write_report([path], tmp_path, "fgpr-experiments run table1", "Begins so.")
    page = (tmp_path / "experiments.md").read_text()
    assert page.startswith("# The paper's evaluation, run here\n\nBegins so.\n")
    assert "| FGPR, kernel by evidence | 0.0500, sd 0.100 (0.148) |" in page
    assert "| CURRIN, corners: FGPR | 0.05 (1 seeds) | <= 0.148 | met |" in page
    assert "Fitted noise sd of the training engines, at the exact optimum: 2: 0.660." in page
    assert "floor of any prediction" not in page
    assert "CURRIN: rbf 1" in page
    assert "1 runs failed; the first: DataError: none" in page
    assert "| homogeneous | 8 | error of the noise sd, squared | -" in page
    assert "| rbf | K=20, N=5000 | noise sd | 5.0e-01 | 5.0e-01 | 5.0e-01 | 2.5e-01 | 1 of 1 |" in page
    assert "| rbf | K=20, N=5000 | theta | 4.0e+00 | 4.0e+00 | 4.0e+00 | 5.0e+00 | 0 of 1 |" in page
    for name in ("ablation.svg", "theorems.svg", "example1.svg", "example3.svg", "sines.svg"):
        assert f"(experiments/{name})" in page
        assert (tmp_path / "experiments" / name).read_text().startswith("<?xml")
    assert any(target.met for target in written.targets)
    assert not written.left_out
    assert "Left out" not in page


def test_curves_of_different_lengths_are_refused_with_their_line(tmp_path: Path) -> None:
    cells = [Cell("example3", "sine", "", "fgpr", seed) for seed in (100, 101)]
    records = [run(cell, {"rmse": 0.1, "curve": [0.1] * (61 + place)}) for place, cell in enumerate(cells)]
    with pytest.raises(DataError, match=r"all\.jsonl, line 2: .*: values\.curve: found 62 numbers, expected 61"):
        page_of(records, tmp_path)


def test_an_error_that_is_no_text_stands_on_the_page(tmp_path: Path) -> None:
    failed = run(Cell("table1", "CURRIN", "corners", "fgpr", 100), {}, "DataError: \udcff")
    assert "the first: DataError: \\udcff" in page_of([failed], tmp_path)


def test_records_of_other_settings_are_left_out_and_counted(tmp_path: Path) -> None:
    of_before = Record(Cell("table1", "CURRIN", "corners", "fgpr", 101), {"rounds": 1}, {"rmse": 50.0}, 3600.0)
    gone = Record(Cell("table1", "ACKLEY", "corners", "fgpr", 100), of_before.settings, {"rmse": 60.0}, 3600.0)
    records = [of_before, gone, record("table1", "CURRIN", "corners", "fgpr", 100, 0.05)]
    page = page_of(records, tmp_path)
    assert "| FGPR, FedAvg with Adam, RBF | 0.0500, sd 0.100 (0.148) |" in page
    assert "1 runs, 0.0 CPU hours" in page
    assert "Left out, since their settings are not the present ones: 2 of table1." in page
    # What was run again since is no longer missing.
    again = page_of([*records[:1], record("table1", "CURRIN", "corners", "fgpr", 101, 0.07)], tmp_path)
    assert "| FGPR, FedAvg with Adam, RBF | 0.0700, sd 0.100 (0.148) |" in again
    assert "Left out" not in again


def test_a_figure_of_fewer_seeds_says_so(tmp_path: Path) -> None:
    of_three = [record("table1", "CURRIN", "corners", "fgpr", seed, 0.2) for seed in (100, 101, 102)]
    of_two = [record("table1", "CURRIN", "corners", "ar", seed, 0.1 * seed - 9.9) for seed in (100, 101)]
    page = page_of(of_three + of_two, tmp_path)
    assert "| FGPR, FedAvg with Adam, RBF | 0.200 +- 0.0000, sd 0.100 (0.148) |" in page
    assert "| AR | 0.150 +- 0.0707, sd 0.100 [2] (0.295) |" in page
    told = "3 seeds a figure, from 100 on; a number in square brackets says how many a figure has that has fewer."
    assert told in page
    assert "square brackets" not in page_of(of_three, tmp_path)


def test_what_is_deterministic_has_no_deviation_and_no_lack_of_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixed = frozenset({("fgpr-shared", "blocks")})
    monkeypatch.setitem(EXPERIMENTS, "table3", replace(EXPERIMENTS["table3"], deterministic=fixed))
    page = page_of(
        [
            record("table3", "1", "blocks", "fgpr-shared", 100, 0.2),
            *(record("table3", "1", "blocks", "ditto", seed, seed / 1000) for seed in (200, 300)),
        ],
        tmp_path,
    )
    assert "| FGPR, mean and covariance shared, by evidence | 0.200, sd 0.100 (0.275) |" in page
    assert "| Neural, Ditto | 0.250 +- 0.0707, sd 0.100 (0.301) |" in page
    assert "2 seeds a figure, from 100 on. Nothing is random in FGPR, mean and covariance shared, by evidence: " in page
    assert "| output 1, blocks: FGPR over Ditto | 0.8 (2 seeds) |" in page


def test_the_page_says_the_hours_of_a_full_run(tmp_path: Path) -> None:
    page = page_of([record("ablation", "0.17", "", "fgpr", seed, 0.05) for seed in (100, 101)], tmp_path)
    # Of either system there are nine weights times twenty seeds, a second each.
    assert "| ablation | 0.00 | 0.05, without 180 runs whose system and variant has no run yet |" in page

"""Tables, targets and the page, on records made here."""

from pathlib import Path

import pytest

from fgpr.experiments import paper
from fgpr.experiments.catalogue import experiment_named
from fgpr.experiments.judged import judge, summarise
from fgpr.experiments.records import Cell, Record
from fgpr.experiments.report import write_report
from fgpr.experiments.theorems import GRADIENT_ROUNDS, NOISE_ROUNDS

POSTERIOR = {"title": "one", "x": [0.0, 1.0], "mean": [0.0, 1.0], "sd": [0.1, 0.2], "truth": [0, 1], "rows": [[0], [0]]}


def record(experiment: str, item: str, variant: str, system: str, seed: int, rmse: float) -> Record:
    return Record(Cell(experiment, item, variant, system, seed), {}, {"rmse": rmse, "sd": 0.1, "kernel": "rbf"}, 1.0)


def test_means_and_deviations_over_seeds() -> None:
    table1 = experiment_named("table1")
    table = summarise(
        table1,
        [record("table1", "PARK", "corners", "fgpr", seed, rmse) for seed, rmse in ((1, 0.1), (2, 0.3), (3, 0.8))],
    )
    entry = table["corners", "PARK", "fgpr"]
    assert (entry.mean, entry.sd, entry.median, entry.seeds) == pytest.approx((0.4, 0.36055513, 0.3, 3))


def test_targets_of_table_1() -> None:
    table1 = experiment_named("table1")
    table = summarise(
        table1,
        [
            record("table1", "CURRIN", "corners", "fgpr-evidence", 1, 0.148),
            record("table1", "PARK", "corners", "fgpr-evidence", 1, 0.0121),
            record("table1", "BRANIN", "uniform", "fgpr-evidence", 1, 9.0),
        ],
    )
    judged = {one.name: one for one in judge(table1, table)}
    assert judged["CURRIN, corners: FGPR"].met is True
    assert judged["PARK, corners: FGPR"].met is False
    assert judged["BRANIN, uniform: FGPR"].met is None
    assert judged["Borehole, latin: FGPR"].value is None


def test_targets_of_tables_2_and_3() -> None:
    table2 = experiment_named("table2")
    found = [("fgpr", 0.53), ("fgpr-optimum", 0.51), ("polynomial", 0.53)]
    records = [record("table2", "4", "", system, 1, rmse) for system, rmse in found]
    judged = {one.name: one for one in judge(table2, summarise(table2, records))}
    assert judged["sensor 4: FGPR over the exact optimum"].met is False
    assert judged["sensor 4: FGPR over polynomial"].met is False
    assert judged["sensor 4: FGPR over neural"].met is None
    table3 = experiment_named("table3")
    found = [("fgpr-shared", 0.27), ("fgpr-evidence", 0.31), ("fgpr", 0.31), ("ditto", 0.3)]
    records = [record("table3", "1", "random", system, 1, rmse) for system, rmse in found]
    judged = {one.name: one for one in judge(table3, summarise(table3, records))}
    assert judged["output 1, random: FGPR"].met is True
    assert judged["output 1, random: FGPR over Ditto"].met is True


def test_the_papers_figures_stand_beside_their_systems() -> None:
    assert paper.figure("table1", "BRANIN", "deep") == (0.213, 0.085)
    assert paper.figure("table1", "BRANIN", "fgpr-private") == (0.260, 0.065)
    assert paper.figure("table2", "7", "neural") == (0.671, 0.085)
    assert paper.figure("table3", "7", "fgpr") == (0.238, 0.144)
    assert paper.figure("table2", "3", "fgpr") is None
    assert paper.figure("sines", "sines", "fgpr") is None


def test_the_page_has_tables_targets_choices_and_pictures(tmp_path: Path) -> None:
    records = [
        record("table1", "CURRIN", "corners", "fgpr-evidence", 100, 0.05),
        record("ablation", "0.17", "", "fgpr", 100, 0.05),
        Record(
            Cell("theorems", "M=8", "homogeneous", "fgpr", 1),
            {},
            {"noise": [1.0 / (t + 1) for t in NOISE_ROUNDS], "gradient": [1.0] * len(GRADIENT_ROUNDS)},
            1.0,
        ),
        Record(Cell("example3", "sine", "", "fgpr", 1), {}, {"rmse": 0.1, "curve": [0.3, 0.1]}, 1.0),
        Record(Cell("sines", "sines", "", "fgpr", 100), {}, {"rmse": 0.1, "posteriors": [POSTERIOR]}, 1.0),
        Record(
            Cell("example1", "K=20, N=5000", "rbf", "fgpr", 1),
            {},
            {"noise": [0.5] * 11 + [0.25], "theta": [4.0] * 11 + [5.0]},
            1.0,
        ),
        Record(Cell("table2", "2", "", "fgpr-optimum", 1), {}, {"rmse": 0.67, "sd": 0.1, "noise sd": 0.66}, 1.0),
        Record(Cell("table3", "1", "random", "fgpr", 1), {}, {}, 1.0, {}, "DataError: none"),
    ]
    path = tmp_path / "all.jsonl"
    path.write_text("".join(one.line + "\n" for one in records))
    targets = write_report([path], tmp_path, "fgpr-experiments run table1", "Begins so.")
    page = (tmp_path / "experiments.md").read_text()
    assert page.startswith("# The paper's evaluation, run here\n\nBegins so.\n")
    assert "| FGPR, kernel by evidence | 0.0500, sd 0.100 (0.148) |" in page
    assert "| CURRIN, corners: FGPR | 0.05 (1 seeds) | <= 0.148 | met |" in page
    assert "about the floor of any prediction: 2: 0.660." in page
    assert "CURRIN: rbf 1" in page
    assert "1 runs failed; the first: DataError: none" in page
    assert "| homogeneous | 8 | error of the noise sd, squared | -" in page
    assert "| rbf | K=20, N=5000 | noise sd | 5.0e-01 | 5.0e-01 | 5.0e-01 | 2.5e-01 | 1 of 1 |" in page
    assert "| rbf | K=20, N=5000 | theta | 4.0e+00 | 4.0e+00 | 4.0e+00 | 5.0e+00 | 0 of 1 |" in page
    for name in ("ablation.svg", "theorems.svg", "example1.svg", "example3.svg", "sines.svg"):
        assert f"(experiments/{name})" in page
        assert (tmp_path / "experiments" / name).read_text().startswith("<?xml")
    assert any(target.met for target in targets)

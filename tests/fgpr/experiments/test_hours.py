"""CPU hours so far and in full, of an experiment and records made here."""

from dataclasses import replace

import pytest

from fgpr.experiments.catalogue import experiment_named
from fgpr.experiments.experiment import Experiment
from fgpr.experiments.hours import hours_of, words_of_hours
from fgpr.experiments.records import Cell, Record


@pytest.fixture
def experiment() -> Experiment:
    """Two items, two variants, three of the systems of Table 3, ten seeds; one pair has nothing random."""
    table3 = experiment_named("table3")
    return replace(
        table3,
        systems=tuple(table3.system(name) for name in ("fgpr", "separate", "ditto")),
        items=("1", "3"),
        repeats=10,
        deterministic=frozenset({("separate", "blocks")}),
    )


def record(system: str, variant: str, seed: int, seconds: float, error: str | None = None) -> Record:
    return Record(Cell("table3", "1", variant, system, seed), {}, {}, seconds, {}, error)


def test_hours_are_of_all_cells_of_what_was_run(experiment: Experiment) -> None:
    records = [
        record("fgpr", "random", 100, 1800.0),
        record("fgpr", "random", 101, 5400.0),
        record("fgpr", "blocks", 100, 360.0),
        record("separate", "blocks", 100, 720.0),
        # What failed has cost its time, and says nothing of what a run takes.
        record("separate", "random", 100, 36.0, "DataError: none"),
        Record(Cell("table2", "2", "", "fgpr", 100), {}, {}, 9999.0),
    ]
    hours = hours_of(experiment, records)
    assert hours.so_far == pytest.approx(0.5 + 1.5 + 0.1 + 0.2 + 0.01)
    # 20 cells of an hour, 20 of a tenth, and the two of what is deterministic.
    assert hours.in_full == pytest.approx(20 * 1.0 + 20 * 0.1 + 2 * 0.2)
    # `separate` on the random split, and `ditto` on both.
    assert hours.unknown == 60
    lines = words_of_hours([experiment], records)
    assert "| table3 | 2.31 | 22.40, without 60 runs whose system and variant has no run yet |" in lines
    assert "| all | 2.31 | 22.40, without 60 runs whose system and variant has no run yet |" in lines


def test_hours_of_what_was_never_run_are_not_known(experiment: Experiment) -> None:
    assert "| table3 | 0.00 | not known yet |" in words_of_hours([experiment], [])


def test_what_was_run_in_full_takes_no_more(experiment: Experiment) -> None:
    records = [
        Record(cell, {}, {}, 36.0 if cell.variant == "blocks" else 72.0)
        for cell in experiment.cells(experiment.repeats)
    ]
    hours = hours_of(experiment, records)
    assert hours.unknown == 0
    assert hours.in_full == pytest.approx(hours.so_far)

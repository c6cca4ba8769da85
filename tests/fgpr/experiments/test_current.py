"""Which records count, and that their curves can be laid over each other."""

import re
from dataclasses import replace

import pytest

from fgpr.errors import DataError
from fgpr.experiments.catalogue import settings_of
from fgpr.experiments.current import check_curves, sort_out
from fgpr.experiments.records import Cell, Record
from fgpr.experiments.theorems import GRADIENT_ROUNDS, NOISE_ROUNDS

EXAMPLE = Cell("example1", "K=20, N=5000", "rbf", "fgpr", 100)
THEOREM = Cell("theorems", "M=8", "homogeneous", "fgpr", 100)
PLACE = "results/some.jsonl, line 7"


def _record(cell: Cell, **curves: list[float]) -> Record:
    return Record(cell, settings_of(cell), curves, 1.0, place=PLACE)


def test_records_of_other_settings_are_counted_and_left_out() -> None:
    record = _record(EXAMPLE, noise=[1.0] * 26)
    of_before = replace(record, cell=replace(EXAMPLE, seed=101), settings={"rounds": 1})
    assert sort_out([record, of_before]) == ([record], {"example1": 1})


def test_curves_of_the_right_length_pass() -> None:
    check_curves(
        [
            _record(EXAMPLE, noise=[1.0] * 26, theta=[0.0] * 26, truth=[1.0]),
            _record(Cell("example3", "sine", "", "fgpr", 100), curve=[1.0] * 61),
            _record(THEOREM, noise=[1.0] * len(NOISE_ROUNDS), gradient=[1.0] * len(GRADIENT_ROUNDS)),
        ]
    )


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        (_record(EXAMPLE, noise=[1.0] * 26, theta=[1.0] * 25), "values.theta: found 25 numbers, expected 26"),
        (_record(Cell("example2", "K=20", "rbf", "fgpr", 100), noise=[1.0]), "values.noise: found 1 numbers"),
        (_record(Cell("example3", "sine", "", "fgpr", 100), curve=[1.0] * 62), "values.curve: found 62 numbers"),
        (_record(THEOREM, gradient=[1.0]), f"values.gradient: found 1 numbers, expected {len(GRADIENT_ROUNDS)}"),
        (
            _record(THEOREM, noise=[1.0] * (len(NOISE_ROUNDS) - 1) + [0.0]),
            "values.noise: found 0.0, expected numbers above 0",
        ),
    ],
)
def test_a_curve_that_fits_no_other_is_refused_with_its_line(record: Record, fault: str) -> None:
    with pytest.raises(DataError, match=re.escape(f"{PLACE}: no record of an experiment: {fault}")):
        check_curves([record])


def test_curves_of_before_are_nobodys_matter() -> None:
    check_curves([replace(_record(EXAMPLE, noise=[1.0]), settings={"rounds": 0})])

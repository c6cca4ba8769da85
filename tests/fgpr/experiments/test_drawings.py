"""Drawings of records that hold nothing to see: no file, and no picture on the page."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fgpr.experiments.catalogue import experiment_named, settings_of
from fgpr.experiments.pictures import draw
from fgpr.experiments.records import Cell, Record

POSTERIOR = {"title": "1 $ and $2 \\x$", "x": [0, 1], "mean": [0, 1], "truth": [0, 1], "rows": [[0], [0]]}
CELLS = [
    Cell("example1", "K=20, N=5000", "rbf", "fgpr", 100),
    Cell("theorems", "M=8", "homogeneous", "fgpr", 100),
    Cell("ablation", "0.17", "", "fgpr", 100),
    Cell("sines", "sines", "", "fgpr", 100),
    Cell("table1", "CURRIN", "corners", "fgpr", 100),
]


def _record(cell: Cell, values: Mapping[str, Any], error: str | None = None) -> Record:
    return Record(cell, settings_of(cell), values, 1.0, {}, error)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.experiment)
def test_without_anything_to_see_there_is_no_picture(tmp_path: Path, cell: Cell) -> None:
    records = [_record(cell, {"loss": 1.0}), _record(cell, {}, "NumericalError: no")]
    assert draw(experiment_named(cell.experiment), records, tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_title_is_no_formula(tmp_path: Path) -> None:
    shown = draw(experiment_named("sines"), [_record(CELLS[3], {"posteriors": [POSTERIOR]})], tmp_path)
    assert shown[0].endswith("/sines.svg)")
    assert "1 $ and $2 \\x$" in (tmp_path / "sines.svg").read_text()

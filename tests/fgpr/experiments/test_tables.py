"""Whole cells of experiments: what each has to come out as, loosely, on one seed that is not one of the table's."""

from pathlib import Path

import numpy as np
import pytest

from fgpr.experiments.posteriors import FIRST_SEED
from fgpr.experiments.records import Cell
from fgpr.experiments.runner import run_cell
from fgpr.experiments.theorems import GRADIENT_ROUNDS, NOISE_ROUNDS


def test_every_quick_system_of_table_1_beats_the_papers_separate() -> None:
    for system in ("fgpr-evidence", "fgpr", "fgpr-private", "separate"):
        record = run_cell(Cell("table1", "CURRIN", "corners", system, 1))
        assert record.error is None
        assert record.values["rmse"] < 0.301


def test_one_model_fits_opposite_sines_and_a_bad_start_is_mended() -> None:
    fitted = run_cell(Cell("sines", "sines", "", "fgpr", FIRST_SEED)).values
    assert fitted["rmse"] < 0.01
    for drawn, sign in zip(fitted["posteriors"], (1.0, -1.0), strict=True):
        assert drawn["truth"] == pytest.approx(sign * np.sin(drawn["x"]), abs=1e-3)
        assert drawn["mean"] == pytest.approx(drawn["truth"], abs=0.02)
        assert len(drawn["sd"]) == len(drawn["x"]) == 101
    mended = run_cell(Cell("example3", "sine", "", "fgpr", 1)).values["curve"]
    assert mended[0] > 0.3
    assert mended[-1] < 0.15


def test_theta_comes_to_the_truth() -> None:
    record = run_cell(Cell("theorems", "M=8", "homogeneous", "fgpr", 1))
    assert record.error is None
    noise, gradient = record.values["noise"], record.values["gradient"]
    assert (len(noise), len(gradient)) == (len(NOISE_ROUNDS), len(GRADIENT_ROUNDS))
    assert noise[-1] < 0.01 * noise[0]
    assert gradient[-1] < 0.1 * gradient[0]


@pytest.mark.data
def test_a_sensor_of_table_2(real_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FGPR_DATA", str(real_data))
    optimum = run_cell(Cell("table2", "4", "", "fgpr-optimum", 1)).values
    polynomial = run_cell(Cell("table2", "4", "", "polynomial", 1)).values
    # The noise that FD001's sensor 4 has, in sds of an engine, is the floor of any prediction.
    assert 0.45 < optimum["noise sd"] < optimum["rmse"] < polynomial["rmse"]

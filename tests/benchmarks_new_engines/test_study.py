"""The study of new engines: its baseline, its methods, its table, and what it says without data."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks_new_engines import __main__ as program
from benchmarks_new_engines.polynomial import polynomial
from benchmarks_new_engines.study import LOCAL, METHODS, POLYNOMIAL, SERVED, Outcome, predictions
from fgpr.gp.model import Feature, ModelSpec, Prior, Target

X = np.arange(1.0, 21.0)


def test_the_polynomial_finds_its_degree_and_its_band() -> None:
    rng = np.random.default_rng(1)
    y = 3.0 + 0.5 * X - 0.04 * X**2 + 0.01 * rng.standard_normal(20)
    found = polynomial(X, y, np.array([30.0]))
    # The textbook's prediction interval, by NumPy's least squares.
    A = np.vander(X, 3)
    coefficients, residual, *_ = np.linalg.lstsq(A, y)
    new = np.array([900.0, 30.0, 1.0])
    scale = np.sqrt(residual[0] / 17 * (1 + new @ np.linalg.inv(A.T @ A) @ new))
    assert found.degrees == 17
    assert found.mean[0] == pytest.approx(new @ coefficients, rel=1e-8)
    assert found.scale[0] == pytest.approx(scale, rel=1e-6)


def test_noise_alone_is_a_constant() -> None:
    y = np.random.default_rng(3).standard_normal(20)
    found = polynomial(X, y, np.array([5.0]))
    assert found.degrees == 19
    assert found.mean[0] == pytest.approx(y.mean())
    half = stats.t.ppf(0.975, 19) * found.scale[0]
    assert half == pytest.approx(stats.t.ppf(0.975, 19) * y.std(ddof=1) * np.sqrt(1 + 1 / 20))


def test_every_method_predicts_and_the_unit_does_not_matter() -> None:
    spec = ModelSpec.with_default_bounds(
        [Feature("cycle", "cycles", 0.0, 400.0)], Target("s4", "1", "standardise"), "rbf"
    )
    prior = Prior(spec, np.log([1.5, 0.5, 80.0]), 1)
    values = 1400.0 + 0.3 * X + np.random.default_rng(4).standard_normal(20)
    here = predictions(prior, X, values, np.array([25.0]))
    there = predictions(prior, X, 10.0 * values, np.array([25.0]))
    assert tuple(here) == METHODS
    for method, said in here.items():
        assert there[method].mean == pytest.approx(10.0 * said.mean, rel=1e-5)
        assert there[method].scale == pytest.approx(10.0 * said.scale, rel=1e-2)


def outcomes(known: int, served: float, local: float) -> list[Outcome]:
    value = dict.fromkeys(METHODS, 1.0) | {SERVED: served, LOCAL: local}
    return [Outcome(method, 2, 0, 7, known, rmse, rmse, rmse, 0.9) for method, rmse in value.items()]


def test_the_report_judges_shares_at_ten_cycles_and_means_at_all() -> None:
    lines, table = program.summarise(
        outcomes(5, 0.9, 0.8) + outcomes(10, 0.6, 0.7) + outcomes(20, 0.5, 0.5) + outcomes(50, 0.4, 0.5)
    )
    found = {line.name: line for line in lines}
    assert found["10 cycles, served prior: RMSE better on"].met is True
    assert found["10 cycles, served prior: NLPD better on"].value == 1.0
    assert found["5 cycles, served prior: RMSE better on"].value == 0.0
    assert found["5 cycles, served prior: RMSE better on"].met is None
    assert found["5 cycles: mean RMSE of the served prior over the local fit's"].met is False
    assert found["20 cycles: mean RMSE of the served prior over the local fit's"].met is True
    assert found[f"5 cycles, {POLYNOMIAL}: RMSE"].value == 1.0
    assert len([line for line in lines if line.met is not None]) == 6
    assert table.row_count == 4 * len(METHODS)


def test_without_data_it_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FGPR_DATA", str(tmp_path / "nowhere"))
    assert program.main(["--report", str(tmp_path / "report.json")]) == 2
    assert "set FGPR_DATA" in " ".join(capsys.readouterr().out.split())
    assert not (tmp_path / "report.json").exists()

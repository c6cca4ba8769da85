"""The study of what privacy costs: its multipliers, its table, and what it says without data."""

import math
from pathlib import Path

import pytest

from benchmarks_privacy import __main__ as program
from benchmarks_privacy import study
from benchmarks_privacy.study import Outcome
from fgpr.federated import accounting


@pytest.mark.parametrize("epsilon", study.EPSILONS)
def test_the_multiplier_is_the_least_that_keeps_the_budget(epsilon: float) -> None:
    found = study.multiplier_for(epsilon, 12)
    assert accounting.epsilon(12 / (2 * found**2), study.DELTA) <= epsilon
    assert accounting.epsilon(12 / (2 * (0.999 * found) ** 2), study.DELTA) > epsilon


def outcome(epsilon: float, rmse: float, spent: float, seed: int = 1) -> Outcome:
    return Outcome(60, epsilon, seed, 3.0, rmse, 0.95, 0.1, spent, 0.5)


def test_the_report_holds_means_worst_seeds_and_targets() -> None:
    lines, table = program.summarise(
        [
            outcome(math.inf, 0.5, math.inf),
            outcome(math.inf, 0.4, math.inf, seed=2),
            outcome(1.0, 0.55, 1.0),
            outcome(1.0, 0.48, 1.0, seed=2),
            outcome(8.0, 0.5, 8.5),
            outcome(8.0, 0.4, 8.0, seed=2),
        ]
    )
    found = {line.name: line for line in lines}
    assert found["60 clients, no noise: RMSE"].value == pytest.approx(0.45)
    assert found["60 clients, epsilon 1: RMSE over none"].value == pytest.approx((1.1 + 1.2) / 2)
    assert found["60 clients, epsilon 1: RMSE over none"].met is False
    assert found["60 clients, epsilon 1: RMSE over none, worst seed"].value == pytest.approx(1.2)
    assert found["60 clients, epsilon 8: RMSE over none"].met is True
    assert found["60 clients, epsilon 8: epsilon counted"].met is False
    assert found["60 clients, epsilon 1: epsilon counted"].met is True
    assert table.row_count == 3


def test_without_data_it_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FGPR_DATA", str(tmp_path / "nowhere"))
    assert program.main(["--report", str(tmp_path / "report.json")]) == 2
    assert "set FGPR_DATA" in " ".join(capsys.readouterr().out.split())
    assert not (tmp_path / "report.json").exists()

import dataclasses
import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from client_agent.predict import predict
from demo import report
from demo.fleet import Engine, NewEngine
from demo.report import Findings
from fgpr.gp.model import Feature, ModelSpec, Prior, Target

FINDINGS = Findings(
    clients=20,
    new_engines=10,
    rounds_published=10,
    rounds_aborted=0,
    aggregate_max_error=1.234e-9,
    rmse_prior_mean=0.4967,
    rmse_prior_sd=0.0972,
    rmse_optimum_mean=0.4971,
    rmse_noise_floor=0.4824,
    coverage_95=0.9412,
    audit_entries=62,
    audit_verified=True,
    seconds=75.9,
    seconds_per_round=4.21,
)

LARGEST = dataclasses.replace(
    FINDINGS,
    clients=200,
    new_engines=200,
    rounds_published=100,
    rounds_aborted=1000,
    aggregate_max_error=1.5e-100,
    rmse_prior_mean=12.3456,
    rmse_prior_sd=12.3456,
    coverage_95=1.0,
    audit_entries=12_345,
    audit_verified=False,
    seconds_per_round=1234.5,
)


def table(findings: Findings, width: int = 80) -> list[str]:
    out = io.StringIO()
    report.print_table(Console(file=out, width=width), findings)
    return [line.rstrip() for line in out.getvalue().splitlines() if line.strip()]


@pytest.mark.parametrize("findings", [FINDINGS, LARGEST])
def test_the_table_fits_80_columns_one_line_a_figure(findings: Findings) -> None:
    lines = table(findings)
    assert max(map(len, lines)) <= 80
    assert len(lines) == 11


def test_the_table_says_what_was_found() -> None:
    text = "\n".join(" ".join(line.split()) for line in table(FINDINGS))
    for line in (
        "engines that trained 20 ",
        "rounds published 10 and 0 aborted",
        "seconds a round 4.2 ",
        "prior off by 1e-09 ",
        "new engines 10 ",
        "prediction error 0.497 RMSE in sd, +- 0.097 over engines",
        "best prior possible 0.497 ",
        "noise floor 0.482 ",
        "in the 95 % band 94.1 % ",
        "audit trail verified 62 entries",
    ):
        assert line in text
    assert "audit trail BROKEN" in "\n".join(" ".join(line.split()) for line in table(LARGEST))


def test_json_has_every_figure_under_its_name() -> None:
    text = report.to_json(FINDINGS)
    assert text.endswith("}\n")
    assert json.loads(text) == {
        "clients": 20,
        "new_engines": 10,
        "rounds_published": 10,
        "rounds_aborted": 0,
        "aggregate_max_error": 1.234e-9,
        "rmse_prior_mean": 0.4967,
        "rmse_prior_sd": 0.0972,
        "rmse_optimum_mean": 0.4971,
        "rmse_noise_floor": 0.4824,
        "coverage_95": 0.9412,
        "audit_entries": 62,
        "audit_verified": True,
        "seconds": 75.9,
        "seconds_per_round": 4.21,
    }


def test_a_picture_is_drawn_over_the_whole_life(tmp_path: Path) -> None:
    spec = ModelSpec.with_default_bounds(
        [Feature("cycle", "cycles", 0.0, 50.0)], Target("s4", "degR", "standardise"), "rbf"
    )
    known = Engine("engine-001", np.array([2.0, 5.0, 9.0]), np.array([1400.0, 1403.0, 1401.0]))
    engine = NewEngine(known, Engine("engine-001", np.array([3.0, 12.0]), np.array([1402.0, 1410.0])))
    cycles = report.grid(engine)
    assert cycles.tolist() == [float(cycle) for cycle in range(1, 13)]
    rows = predict(Prior(spec, spec.initial_theta, 0), {"cycle": known.cycles, "s4": known.values}, {"cycle": cycles})
    path = tmp_path / "new" / "prediction.png"
    report.draw(path, engine, rows, "s4")
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")

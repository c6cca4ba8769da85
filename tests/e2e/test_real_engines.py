"""Real C-MAPSS engines through the demonstration: a short run where FGPR_DATA has the files."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.data]


def test_new_engines_are_predicted_nearly_as_well_as_with_the_pooled_optimum(real_data: Path, tmp_path: Path) -> None:
    file = real_data / "cmapss" / "train_FD001.txt"
    if not file.is_file():
        pytest.skip(f"no {file}")
    out = tmp_path / "out.json"
    command = [sys.executable, "-m", "demo.cli", "--data", str(file), "--sensor", "4", "--json", str(out)]
    wish = ["--clients", "16", "--new-engines", "20", "--rounds", "8", "--seed", "0"]
    done = subprocess.run([*command, *wish], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    figures = json.loads(out.read_text())
    assert figures["rounds_published"] == 8
    assert figures["aggregate_max_error"] <= 1e-6
    assert figures["audit_verified"] is True
    assert figures["rmse_prior_mean"] <= 1.04 * figures["rmse_optimum_mean"]
    assert 0.91 <= figures["coverage_95"] <= 0.98

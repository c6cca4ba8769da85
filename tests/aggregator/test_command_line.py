from pathlib import Path

import pytest
from typer.testing import CliRunner

from aggregator.cli import app
from aggregator.settings import Settings
from fgpr import environment_variables
from support.every_command import calls


def test_the_known_variables_are_the_settings() -> None:
    assert {f"FGPR_{name.upper()}" for name in Settings.model_fields} == environment_variables.AGGREGATOR


@pytest.mark.parametrize("words", [pytest.param(words, id=" ".join(words)) for words in calls(app, role="operator")])
def test_no_command_passes_over_a_mistyped_variable(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FGPR_TLS_CERT", "chain.pem")
    result = CliRunner().invoke(app, words)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "FGPR_TLS_CERT is no setting; the closest one is FGPR_TLS_CERTIFICATE" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_small_letters_are_read_as_capitals_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("fgpr_database", f"sqlite:///{tmp_path}/other.db")
    assert CliRunner().invoke(app, ["migrate"]).exit_code == 0
    assert (tmp_path / "other.db").exists()

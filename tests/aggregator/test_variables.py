import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aggregator import variables
from aggregator.cli import app
from fgpr.errors import LocalProtocolError

ROOT = Path(__file__).resolve().parents[2]
READERS = ("services", "libs", "docker", ".ci", "tests/conftest.py", "tests/support", "tests/fuzz")


@pytest.mark.parametrize(
    ("mistyped", "meant"),
    [
        ("FGPR_TLS_CERT", "FGPR_TLS_CERTIFICATE"),
        ("FGPR_TLSKEY", "FGPR_TLS_KEY"),
        ("FGPR_DATABSE", "FGPR_DATABASE"),
        ("FGPR_DATABASE_URL", "FGPR_DATABASE"),
        ("fgpr_origins", "FGPR_ORIGIN"),
        ("FGPR_PROXY", "FGPR_PROXIES"),
        ("FGPR_PASSPHRASE_FILE", "FGPR_KEY_PASSPHRASE_FILE"),
        ("FGPR_IDENTITY_RATES", "FGPR_IDENTITY_RATE"),
    ],
)
def test_a_mistyped_name_is_refused_with_the_closest_one(mistyped: str, meant: str) -> None:
    environment = {"FGPR_ORIGIN": "https://fgpr.example", "FGPR_HOME": "/h", "PATH": "/bin", mistyped: "s3cret"}
    with pytest.raises(LocalProtocolError, match=f"^{mistyped} is no setting; the closest one is {meant}[.]") as caught:
        variables.check(environment)
    assert "s3cret" not in str(caught.value)


def test_all_that_are_wrong_are_named() -> None:
    with pytest.raises(LocalProtocolError, match=r"^FGPR_A is no setting.*; FGPR_METRIC is no setting.*FGPR_METRICS\."):
        variables.check({"FGPR_METRIC": "off", "FGPR_A": "", "FGPR_METRICS": "off"})


def test_names_that_somebody_knows_are_taken() -> None:
    variables.check(dict.fromkeys(variables.settings_names() | variables.OTHERS, "x"))
    variables.check({"fgpr_tls_certificate": "as pydantic reads it", "MY_FGPR_X": "", "FGPRX": "", "PATH": "/bin"})


def test_the_known_names_are_those_that_the_tree_reads() -> None:
    files = [
        path
        for reader in READERS
        for path in ([ROOT / reader] if (ROOT / reader).is_file() else (ROOT / reader).rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    ]
    texts = [path.read_text(encoding="utf-8") for path in files if path != Path(variables.__file__)]
    found = {name for text in texts for name in re.findall(r"\bFGPR_[A-Z][A-Z_]+", text)}
    assert found - variables.settings_names() == variables.OTHERS


@pytest.mark.parametrize("command", ["migrate", "serve", "doctor", "openapi"])
def test_no_command_passes_over_it(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FGPR_TLS_CERT", "chain.pem")
    result = CliRunner().invoke(app, [command])
    assert result.exit_code == 1
    assert "FGPR_TLS_CERT is no setting; the closest one is FGPR_TLS_CERTIFICATE" in result.stderr
    assert list(tmp_path.iterdir()) == []

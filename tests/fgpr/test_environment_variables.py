import re
from pathlib import Path

import pytest

from fgpr import environment_variables
from fgpr.environment_variables import AGENT, AGGREGATOR, OTHERS
from fgpr.errors import LocalProtocolError

ROOT = Path(__file__).resolve().parents[2]
READERS = ("services", "libs", "docker", ".ci", "tests/conftest.py", "tests/support", "tests/fuzz")


@pytest.mark.parametrize(
    ("own", "mistyped", "meant"),
    [
        (AGGREGATOR, "FGPR_TLS_CERT", "FGPR_TLS_CERTIFICATE"),
        (AGGREGATOR, "FGPR_TLSKEY", "FGPR_TLS_KEY"),
        (AGGREGATOR, "FGPR_DATABSE", "FGPR_DATABASE"),
        (AGGREGATOR, "FGPR_DATABASE_URL", "FGPR_DATABASE"),
        (AGGREGATOR, "fgpr_origins", "FGPR_ORIGIN"),
        (AGGREGATOR, "FGPR_PROXY", "FGPR_PROXIES"),
        (AGGREGATOR, "FGPR_PASSPHRASE_FILE", "FGPR_KEY_PASSPHRASE_FILE"),
        (AGGREGATOR, "FGPR_IDENTITY_RATES", "FGPR_IDENTITY_RATE"),
        (AGENT, "FGPR_EPSILLON", "FGPR_EPSILON"),
        (AGENT, "FGPR_PASSPHRASE_FILE", "FGPR_KEY_PASSPHRASE_FILE"),
        (AGENT, "FGPR_HOMES", "FGPR_HOME"),
        (AGENT, "FGPR_OPERATORHOME", "FGPR_OPERATOR_HOME"),
    ],
)
@pytest.mark.parametrize("any_case", [False, True])
def test_a_mistyped_name_is_refused_with_the_closest_one(
    own: frozenset[str], mistyped: str, meant: str, any_case: bool
) -> None:
    environment = {"FGPR_ORIGIN": "https://fgpr.example", "FGPR_HOME": "/h", "PATH": "/bin", mistyped: "s3cret"}
    with pytest.raises(LocalProtocolError, match=f"^{mistyped} is no setting; the closest one is {meant}[.]") as caught:
        environment_variables.check(own, environment, any_case=any_case)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("own", "mistyped", "meant", "instead"),
    [
        (AGENT, "FGPR_PASSWORD_FILE", "FGPR_DATABASE_PASSWORD_FILE", "FGPR_KEY_PASSPHRASE_FILE"),
        (AGENT, "FGPR_TLS_CERT", "FGPR_TLS_CERTIFICATE", "FGPR_DELTA"),
        (AGGREGATOR, "FGPR_OPERATOR_HOMES", "FGPR_OPERATOR_HOME", "FGPR_PROXIES"),
    ],
)
def test_a_setting_of_another_program_is_called_that(
    own: frozenset[str], mistyped: str, meant: str, instead: str
) -> None:
    told = (
        f"^{mistyped} is no setting; the closest one is {meant}, which another program reads .of this one's {instead}."
    )
    with pytest.raises(LocalProtocolError, match=told):
        environment_variables.check(own, [mistyped])


def test_all_that_are_wrong_are_named() -> None:
    with pytest.raises(LocalProtocolError, match=r"^FGPR_A is no setting.*; FGPR_METRIC is no setting.*FGPR_METRICS\."):
        environment_variables.check(AGGREGATOR, ["FGPR_METRIC", "FGPR_A", "FGPR_METRICS"])


@pytest.mark.parametrize("own", [AGENT, AGGREGATOR])
def test_names_that_somebody_knows_are_taken(own: frozenset[str]) -> None:
    environment_variables.check(own, AGENT | AGGREGATOR | OTHERS | {"MY_FGPR_X", "FGPRX", "PATH"})


def test_small_letters_are_another_name_but_where_a_program_reads_them_too() -> None:
    environment_variables.check(AGGREGATOR, ["fgpr_tls_certificate"], any_case=True)
    environment_variables.check(AGENT, ["fgpr_tls_certificate"])
    for name in ("fgpr_epsilon", "fgpr_key_passphrase_file"):
        with pytest.raises(LocalProtocolError, match=f"^{name} is no setting; the closest one is {name.upper()}[.]"):
            environment_variables.check(AGENT, [name])


def test_the_known_names_are_those_that_the_tree_reads() -> None:
    files = [
        path
        for reader in READERS
        for path in ([ROOT / reader] if (ROOT / reader).is_file() else (ROOT / reader).rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    ]
    texts = [path.read_text(encoding="utf-8") for path in files if path != Path(environment_variables.__file__)]
    found = {name for text in texts for name in re.findall(r"\bFGPR_[A-Z][A-Z_]+", text)}
    assert found - AGGREGATOR == (AGENT | OTHERS) - AGGREGATOR

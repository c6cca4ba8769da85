import pytest
from pydantic import ValidationError

from aggregator.settings import Settings


@pytest.mark.parametrize("where", ["here", "off", "127.0.0.1:9100", "[::1]:9100", "metrics.internal:9100"])
def test_where_metrics_are(where: str) -> None:
    assert Settings(metrics=where).metrics == where


@pytest.mark.parametrize("where", ["", "there", "9100", ":9100", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536"])
def test_where_metrics_are_not(where: str) -> None:
    with pytest.raises(ValidationError, match=r"here .*off, or HOST:PORT"):
        Settings(metrics=where)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("head_seconds", 0),
        ("body_seconds", -1),
        ("body_seconds", float("nan")),
        ("write_seconds", float("inf")),
        ("address_rate", 0),
        ("identity_burst", 0),
        ("connections", 0),
        # Less than two of the largest bodies would stop every round.
        ("bodies_bytes", 2**20),
    ],
)
def test_limits_that_would_let_nobody_in(name: str, value: float) -> None:
    with pytest.raises(ValidationError, match=name):
        Settings.model_validate({name: value})


def test_limits_come_from_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FGPR_BODY_SECONDS", "12.5")
    monkeypatch.setenv("FGPR_CONNECTIONS_EACH", "7")
    monkeypatch.setenv("FGPR_LOG_REQUESTS", "false")
    settings = Settings()
    assert (settings.body_seconds, settings.connections_each, settings.log_requests) == (12.5, 7, False)

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


@pytest.mark.parametrize(
    ("text", "networks"),
    [
        ("", []),
        (" , ", []),
        ("10.0.0.2", ["10.0.0.2/32"]),
        ("10.0.0.2, 10.1.0.0/16 ,", ["10.0.0.2/32", "10.1.0.0/16"]),
        ("fd00::7,fd00:1::/64", ["fd00::7/128", "fd00:1::/64"]),
    ],
)
def test_proxies_are_addresses_and_networks(text: str, networks: list[str]) -> None:
    assert [str(one) for one in Settings(proxies=text).proxy_networks] == networks


@pytest.mark.parametrize(
    "wrong",
    [
        "haproxy",
        "proxy.example.org",
        "*",
        "10.0.0.1/8",
        "10.0.0.0/33",
        "10.0.0",
        "10.0.0.2:80",
        "fd00::/x",
        "[fd00::7]",
    ],
)
def test_proxies_that_are_none(wrong: str) -> None:
    """A name would be compared with addresses, and never be one: its X-Forwarded-For would be ignored in silence."""
    with pytest.raises(ValidationError, match="no address of a proxy and no network") as caught:
        Settings(proxies=f"10.0.0.2,{wrong}")
    assert repr(wrong) in str(caught.value)

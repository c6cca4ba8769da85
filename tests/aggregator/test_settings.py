from pathlib import Path

import pytest
from pydantic import ValidationError
from sqlalchemy import make_url

from aggregator.settings import Settings, without_password
from fgpr.errors import LocalProtocolError


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variables of the machine that the tests run on."""
    for name in ("DATABASE", "KEYS", "ORIGIN", "TICK_SECONDS", "WAITERS"):
        monkeypatch.delenv(f"FGPR_{name}", raising=False)


def test_defaults() -> None:
    settings = Settings()
    assert settings.database == "sqlite:///fgpr.db"
    assert settings.keys == Path("keys")
    assert settings.origin == "http://127.0.0.1:8000"


def test_variables_stand_above_defaults_and_below_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FGPR_DATABASE", "sqlite:////var/lib/fgpr/a.db")
    monkeypatch.setenv("FGPR_ORIGIN", "https://fgpr.example/base/")
    monkeypatch.setenv("FGPR_TICK_SECONDS", "2.5")
    monkeypatch.setenv("FGPR_SOMETHING_ELSE", "x")
    assert Settings().database == "sqlite:////var/lib/fgpr/a.db"
    assert Settings().origin == "https://fgpr.example/base"
    assert Settings().tick_seconds == 2.5
    assert Settings(database="sqlite:///b.db").database == "sqlite:///b.db"


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("postgresql://fgpr@db/fgpr", "postgresql+psycopg://fgpr@db/fgpr"),
        ("postgresql+psycopg://fgpr@db/fgpr", "postgresql+psycopg://fgpr@db/fgpr"),
        ("sqlite:///relative.db", "sqlite:///relative.db"),
    ],
)
def test_databases(given: str, used: str) -> None:
    assert Settings(database=given).database == used


@pytest.mark.parametrize(
    "database", ["", "sqlite", "sqlite://", "sqlite:///", "sqlite:///:memory:", "mysql://db/fgpr", "fgpr.db"]
)
def test_databases_that_are_none(database: str) -> None:
    with pytest.raises(ValidationError, match="database"):
        Settings(database=database)


@pytest.mark.parametrize("options", ["mode=memory&uri=true", "bogus=1", "timeout=5", ""])
def test_a_file_of_sqlite_has_no_options(options: str) -> None:
    with pytest.raises(ValidationError, match=r"takes no options: leave out the [?]"):
        Settings(database=f"sqlite:///fgpr.db?{options}")


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("fgpr:hunter2@127.0.0.1:notaport/x", "PORT is a number"),
        ("fgpr:hunter2@db:/x", "PORT is a number"),
        ("fgpr:hunter2@[::1/x", "cannot be read"),
        ("fgpr:hunter2@d\u2100b/x", "cannot be read"),
        ("fgpr:x@hunter2@db/x", "%40 %2F %3F %23"),
        ("fgpr:x/hunter2@db/x", "%40 %2F %3F %23"),
        ("fgpr:x?hunter2@db/x", "%40 %2F %3F %23"),
        ("fgpr:x#hunter2@db/x", "%40 %2F %3F %23"),
    ],
)
def test_urls_of_postgresql_that_say_two_things_or_nothing(place: str, reason: str) -> None:
    """Part of a password would be taken for a host, and told when that has no address."""
    with pytest.raises(ValidationError, match=reason) as caught:
        Settings(database=f"postgresql://{place}")
    assert not [fault for fault in caught.value.errors() if "hunter2" in fault["msg"]]


@pytest.mark.parametrize(
    "url",
    ["postgresql+psycopg://u%40s:p%40%2F%3F%23:w@db:5432/x", "postgresql+psycopg://u:@[::1]/x?options=a%40b@c"],
)
def test_urls_of_postgresql_with_marks_in_them(url: str) -> None:
    assert Settings(database=url).database == url


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "fgpr.example",
        "ftp://fgpr.example",
        "https://",
        "https://h?x=1",
        "https://h#a",
        "http://[::1",
        "file:///x",
        "http://h:x",
        "http://h:99999",
        "http://h:0",
        "https://user:word@h",
    ],
)
def test_addresses_that_are_none(origin: str) -> None:
    with pytest.raises(ValidationError):
        Settings(origin=origin)


@pytest.mark.parametrize(
    "wrong", [{"tick_seconds": 0}, {"tick_seconds": 61}, {"tick_seconds": float("nan")}, {"waiters": 0}]
)
def test_numbers_outside_their_limits(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Settings(**wrong)


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError):
        Settings().origin = "http://elsewhere"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql+psycopg://fgpr:hunter2@db:5432/fgpr", "postgresql+psycopg://fgpr@db:5432/fgpr"),
        ("postgresql://fgpr:a%40b:c@db/fgpr?sslmode=require", "postgresql://fgpr@db/fgpr?sslmode=require"),
        ("postgresql://:hunter2@db/fgpr", "postgresql://@db/fgpr"),
        ("postgresql://fgpr:p@ss@db/fgpr", "postgresql://fgpr@db/fgpr"),
        ("postgresql://db/fgpr?user=a&password=hunter2&host=%2Ftmp", "postgresql://db/fgpr?user=a&host=%2Ftmp"),
        ("postgresql://fgpr@/fgpr?host=%2Frun%2Fpg", "postgresql://fgpr@/fgpr?host=%2Frun%2Fpg"),
        ("postgresql://db/fgpr", "postgresql://db/fgpr"),
        ("sqlite:////var/lib/a@b:c.db", "sqlite:////var/lib/a@b:c.db"),
    ],
    ids=range(8),
)
def test_what_is_shown_of_a_database_holds_no_password(url: str, shown: str) -> None:
    assert without_password(url) == shown


@pytest.mark.parametrize(
    ("url", "kept", "content"),
    [
        ("postgresql://fgpr@db:5432/x", "postgresql+psycopg://fgpr:pa%3Ass%40%2F%25w@db:5432/x", "pa:ss@/%w\n"),
        ("postgresql+psycopg://u%40s@/x?host=%2Frun", "postgresql+psycopg://u%40s:p%20w@/x?host=%2Frun", "p w\r\n"),
        ("postgresql://fgpr@[::1]/x", "postgresql+psycopg://fgpr:%C3%BC%20@[::1]/x", "ü "),
    ],
)
def test_a_password_from_a_file(tmp_path: Path, url: str, kept: str, content: str) -> None:
    file = tmp_path / "password"
    file.write_bytes(content.encode())
    settings = Settings(database=url, database_password_file=file)
    assert settings.database_url == kept
    # The driver's own reading of it, and what is shown.
    assert make_url(settings.database_url).password == content.rstrip("\r\n")
    assert content.strip() not in repr(settings)
    assert without_password(settings.database_url) == settings.database


@pytest.mark.parametrize(
    ("url", "content", "reason"),
    [
        ("postgresql://fgpr@db/x", None, "No such file"),
        ("postgresql://fgpr@db/x", b"\n", "is empty"),
        ("postgresql://fgpr@db/x", b"\xff", "no UTF-8 text"),
        ("postgresql://fgpr:other@db/x", b"secret", "without a password in it"),
        ("postgresql://db/x", b"secret", "USER@HOST"),
        ("sqlite:///x.db", b"secret", "USER@HOST"),
    ],
)
def test_a_password_that_cannot_be_used(tmp_path: Path, url: str, content: bytes | None, reason: str) -> None:
    file = tmp_path / "password"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(LocalProtocolError, match=reason) as caught:
        _ = Settings(database=url, database_password_file=file).database_url
    assert "secret" not in str(caught.value)

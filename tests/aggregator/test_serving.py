"""The server around the application: TLS with a certificate of its own, and its limits."""

import resource
import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from click.testing import Result
from typer.testing import CliRunner

from aggregator import serving
from aggregator.settings import Settings
from client_agent.cli import app as agent
from fgpr.errors import CryptographicError, LocalProtocolError
from support.aggregator import Aggregator, served
from support.certificates import self_signed


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return self_signed(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory, files: tuple[Path, Path]) -> Iterator[Aggregator]:
    """One that speaks TLS only."""
    certificate, key = files
    folder = tmp_path_factory.mktemp("encrypted")
    with served(folder, keeps_deadlines=False, tls_certificate=certificate, tls_key=key) as made:
        assert made.settings.origin.startswith("https://")
        # Agents of the command line have the machine's clock.
        made.clock.now = datetime.now(UTC)
        yield made


def believing(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certificate)


def test_whoever_knows_the_certificate_is_served(encrypted: Aggregator, files: tuple[Path, Path]) -> None:
    answer = httpx.get(f"{encrypted.settings.origin}/v1/log/checkpoint", verify=believing(files[0]))
    assert answer.status_code == 200


def test_whoever_does_not_know_it_sends_nothing(encrypted: Aggregator) -> None:
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx.get(f"{encrypted.settings.origin}/livez")


@pytest.mark.parametrize(
    ("version", "spoken"),
    [(ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)],
    ids=lambda one: str(getattr(one, "name", one)),
)
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1:DeprecationWarning")
def test_versions(encrypted: Aggregator, files: tuple[Path, Path], version: ssl.TLSVersion, spoken: bool) -> None:
    context = believing(files[0])
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    url = httpx.URL(encrypted.settings.origin)
    with socket.create_connection((url.host, url.port or 0), timeout=30) as plain:
        if not spoken:
            with pytest.raises(ssl.SSLError):
                context.wrap_socket(plain, server_hostname=url.host)
            return
        with context.wrap_socket(plain, server_hostname=url.host) as connection:
            assert connection.version() == version.name.replace("v1_", "v1.")


def test_plain_http_is_not_spoken_there(encrypted: Aggregator) -> None:
    with pytest.raises(httpx.TransportError):
        httpx.get(encrypted.settings.origin.replace("https", "http") + "/livez")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(agent, arguments)


def test_an_agent_believes_the_authority_that_its_owner_names(
    encrypted: Aggregator, files: tuple[Path, Path], tmp_path: Path
) -> None:
    ticket, home = encrypted.invite("bench-1", "reader").to_text(), tmp_path / "home"
    refused = run("enrol", "--ticket", ticket, "--home", str(home))
    assert refused.exit_code == 1
    assert "no known authority vouches for" in refused.stderr
    assert "--ca" in refused.stderr
    assert run("enrol", "--ticket", ticket, "--home", str(home), "--ca", str(files[0])).exit_code == 0
    # From now on it is in the home.
    shown = run("prior", "show", "--home", str(home))
    assert shown.exit_code == 0, shown.output
    other, _ = self_signed(tmp_path, "other")
    again = run("enrol", "--ticket", ticket, "--home", str(home), "--ca", str(other))
    assert (again.exit_code, "enrolled as bench-1" in again.stderr) == (1, True)
    assert (home / "ca.pem").read_bytes() == files[0].read_bytes()


def test_another_authority_is_not_believed(encrypted: Aggregator, tmp_path: Path) -> None:
    ticket = encrypted.invite("bench-2", "reader").to_text()
    other, _ = self_signed(tmp_path, "other")
    refused = run("enrol", "--ticket", ticket, "--home", str(tmp_path / "home"), "--ca", str(other))
    assert refused.exit_code == 1
    assert "certificate" in refused.stderr


@pytest.mark.parametrize("content", [b"", b"rubbish", b"\xff\xfe", b"-----BEGIN CERTIFICATE-----\nAAAA\n"])
def test_an_authority_that_is_none(encrypted: Aggregator, tmp_path: Path, content: bytes) -> None:
    path, home = tmp_path / "ca.pem", tmp_path / "home"
    path.write_bytes(content)
    ticket = encrypted.invite("bench-3", "reader").to_text()
    refused = run("enrol", "--ticket", ticket, "--home", str(home), "--ca", str(path))
    assert refused.exit_code == 1
    assert "no certificate in PEM" in refused.stderr
    assert not (home / "ca.pem").exists()


def settings(certificate: Path | None, key: Path | None) -> Settings:
    return Settings(tls_certificate=certificate, tls_key=key)


def test_without_a_certificate_there_is_no_tls() -> None:
    assert serving.tls_context(settings(None, None)) is None


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    for mode in (0o644, 0o640, 0o604, 0o660):
        key.chmod(mode)
        with pytest.raises(CryptographicError, match=r"server\.key"):
            serving.tls_context(settings(certificate, key))
    key.chmod(0o400)
    assert serving.tls_context(settings(certificate, key)) is not None


def test_certificates_and_keys_that_do_not_serve(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    _, other = self_signed(tmp_path, "other")
    missing, rubbish = tmp_path / "missing.pem", tmp_path / "rubbish.pem"
    rubbish.touch(mode=0o600)
    for pair in ((certificate, None), (None, key), (certificate, other), (missing, key), (rubbish, key)):
        with pytest.raises(LocalProtocolError, match="TLS"):
            serving.tls_context(settings(*pair))
    with pytest.raises(LocalProtocolError, match="TLS"):
        serving.tls_context(settings(certificate, rubbish))
    with pytest.raises(CryptographicError, match=r"cannot read .*missing\.pem"):
        serving.tls_context(settings(certificate, missing))


def test_the_server_logs_nothing_of_its_own(aggregator: Aggregator) -> None:
    """Its lines would hold paths and addresses."""
    config = serving.configure(aggregator.app)
    assert (config.access_log, config.log_config, config.server_header) == (False, None, False)


def test_there_are_never_more_connections_than_files(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: asked.append(limits))
    for soft, hard, wanted, expected in (
        (1_024, 1_024, 2_000, 824),
        (1_024, 4_096, 2_000, 2_000),
        (1_024, resource.RLIM_INFINITY, 2_000, 2_000),
        (100_000, 100_000, 2_000, 2_000),
        (100, 100, 2_000, 1),
    ):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft, hard=hard: (soft, hard))
        assert serving._connections(wanted) == expected
    assert asked == [(1_024, 1_024), (2_200, 4_096), (2_200, resource.RLIM_INFINITY), (100, 100)]

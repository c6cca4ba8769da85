"""Through a real HTTP proxy, by the environment and by agent.toml; and connections of which one end is gone."""

import socket
import ssl
import threading
from types import SimpleNamespace

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from client_agent import authorities, membership
from client_agent.api import Api
from fgpr.errors import LocalProtocolError, RemoteProtocolError, Unavailable
from support.agent_home import AgentHome
from support.aggregator import free_port
from support.certificates import self_signed
from support.failing_server import RECEIPT, Failing
from support.federation import Federation
from support.proxy import Proxy

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
ORIGIN = "http://aggregator.invalid"
"""A name that only a proxy can know."""


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=lambda _: None))


@pytest.fixture
def server():
    return Failing((RECEIPT, True))


@pytest.fixture
def proxy(server):
    found = Proxy(int(server.origin.rpartition(":")[2]))
    yield found
    found.close()


@pytest.mark.parametrize("way", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "explicit"])
def test_a_request_goes_through_the_proxy_as_it_was_signed(server, proxy, monkeypatch, way):
    if way != "explicit":
        monkeypatch.setenv(way, proxy.address)
    with Api(ORIGIN, "turbofan", KEY, attempts=1, proxy=proxy.address if way == "explicit" else None) as api:
        assert api.put("x", b'{"a":1}') == b"receipt"
    server.join()
    assert proxy.asked == ["PUT http://aggregator.invalid/v1/federations/turbofan/x HTTP/1.1"]
    (head,) = server.heads
    # What the aggregator's own checks see: path, host and signature as without a proxy.
    assert head.startswith("put /v1/federations/turbofan/x http/1.1")
    assert "host: aggregator.invalid\r\n" in head
    assert "signature-input: fgpr=" in head
    assert server.bodies == [b'{"a":1}']


def test_no_proxy_is_obeyed_and_the_owners_own_word_goes_first(server, proxy, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Api(server.origin, "turbofan", KEY, attempts=1) as api:
        assert api.get("x") == b"receipt"
    server.join()
    assert proxy.asked == []


def test_tls_goes_through_a_tunnel_and_is_still_verified(tmp_path):
    certificate, key = self_signed(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    authorities.keep(tmp_path / "home", certificate.read_bytes())
    port = free_port()
    listening = threading.Event()

    def serve():
        with socket.create_server(("127.0.0.1", port)) as listener:
            listening.set()
            connection, _ = listener.accept()
            with context.wrap_socket(connection, server_side=True) as tls, tls.makefile("rb") as incoming:
                while incoming.readline() not in (b"\r\n", b""):
                    pass
                tls.sendall(RECEIPT)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    listening.wait(5)
    proxy = Proxy(port)
    try:
        tls = authorities.load(tmp_path / "home")
        with Api("https://127.0.0.1:4443", "turbofan", KEY, attempts=1, tls=tls, proxy=proxy.address) as api:
            assert api.get("x") == b"receipt"
    finally:
        proxy.close()
    thread.join(5)
    assert proxy.asked == ["CONNECT 127.0.0.1:4443 HTTP/1.1"]


def test_a_proxy_that_refuses_or_is_away_is_named_as_the_reason():
    refusing = Proxy(1, refuse=b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
    try:
        with (
            Api(ORIGIN, "turbofan", KEY, attempts=2, proxy=refusing.address) as api,
            pytest.raises(RemoteProtocolError, match="answered 407"),
        ):
            api.get("x")
        with (
            Api("https://aggregator.invalid", "turbofan", KEY, attempts=2, proxy=refusing.address) as api,
            pytest.raises(Unavailable, match="ProxyError 407 Proxy Authentication Required"),
        ):
            api.get("x")
    finally:
        refusing.close()
    away = f"http://127.0.0.1:{free_port()}"
    with Api(ORIGIN, "turbofan", KEY, attempts=2, proxy=away) as api, pytest.raises(Unavailable, match="ConnectError"):
        api.get("x")


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "ftp://h", "http://h:port"])
def test_an_address_that_is_no_proxys_is_refused(proxy):
    with pytest.raises(LocalProtocolError, match="no proxy can be reached by the address"):
        Api(ORIGIN, "turbofan", KEY, proxy=proxy)


def test_agent_toml_names_the_proxy_of_every_command(tmp_path, proxy):
    home = AgentHome(Federation(4), "client-00", tmp_path / "home").home
    (home / "agent.toml").write_text(f"[connection]\nproxy = '{proxy.address}'\n")
    with membership.connect(home, attempts=1) as api:
        api.trust(None)
        assert api.get("x") == b"receipt"
    assert proxy.asked[0].startswith("GET http://aggregator.invalid/v1/")


def test_a_connection_whose_other_end_is_gone_is_given_up_and_another_one_made(server):
    deaf = Proxy(int(server.origin.rpartition(":")[2]), deaf=True)
    try:
        timeout = httpx.Timeout(0.3, connect=5.0)
        with Api(ORIGIN, "turbofan", KEY, attempts=2, proxy=deaf.address, timeout=timeout) as api:
            assert api.put("x", b'{"a":1}') == b"receipt"
    finally:
        deaf.close()
    assert len(deaf.asked) == 2
    assert server.bodies == [b'{"a":1}']

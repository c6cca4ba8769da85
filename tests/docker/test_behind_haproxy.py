"""A round through a real HAProxy with our configuration; skipped where none is installed."""

import dataclasses
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from aggregator.routes.rounds import CONTRIBUTION_LIMIT
from fgpr.rest import RoundView
from fgpr.secagg.stages import Stage
from support.aggregator import free_port, wait_until
from support.client import NAME
from support.haproxy import PREFIX, Proxy, haproxy
from support.raw_socket import answer_of, connected
from support.replicas import two_replicas

pytestmark = pytest.mark.slow


def test_a_round(tmp_path: Path, database_url: str) -> None:
    with (
        two_replicas(tmp_path, database_url, prefix=PREFIX, proxies="127.0.0.1") as replicas,
        haproxy(tmp_path, replicas.ports) as proxy,
    ):
        wait_until(proxy.up)
        through = dataclasses.replace(replicas, ports=[proxy.port])
        parties = [through.party(f"client-{number:02d}") for number in range(4)]
        wait_until(lambda: replicas.first.last_round() == 1)
        seen = parties[3].view().state
        api = parties[3].api_as(parties[3].client.identity_key, replicas.first.clock)
        with api, ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(api.get, "rounds/current", {"seen": seen, "wait": 30})
            for party in parties:
                assert party.contribute().counted
            assert RoundView.decode(waiting.result()).state != seen
        wait_until(lambda: replicas.first.round(1).stage is Stage.OPENING)
        for party in parties:
            party.open()
        wait_until(lambda: replicas.first.round(1).stage is Stage.PUBLISHED)
        # Both took their part.
        for port in replicas.ports:
            told = httpx.get(f"http://127.0.0.1:{port}/metrics").text
            assert 'route="/v1/federations/{federation}/rounds/current"' in told


def test_one_replica_away(tmp_path: Path) -> None:
    with passing() as (server, taken), haproxy(tmp_path, [server, free_port()]) as proxy:
        wait_until(proxy.up)
        for _ in range(20):
            assert ask(proxy, "GET", "/v1/log/checkpoint").status_code == 200
        assert len(taken) >= 20


def test_no_replica(tmp_path: Path) -> None:
    with haproxy(tmp_path, [free_port(), free_port()]) as proxy:
        answer = ask(proxy, "GET", "/v1/log/checkpoint")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["type"] == "urn:fgpr:problem:unavailable"
        assert httpx.get(f"{proxy.origin}/alive").status_code == 200


@pytest.fixture(scope="module")
def echoed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxy, list[Any]]]:
    """HAProxy before a server that keeps what it gets."""
    with passing() as (server, taken), haproxy(tmp_path_factory.mktemp("echo"), [server, server]) as proxy:
        wait_until(proxy.up)
        yield proxy, taken


def test_nothing_that_is_signed_changes(echoed: tuple[Proxy, list[Any]]) -> None:
    proxy, taken = echoed
    path = f"/v1/federations/{NAME}/rounds/current?seen=a%2Fb%20c&wait=0&x=%C3%BC"
    headers = {
        "Content-Type": "application/json",
        "Content-Digest": "sha-256=:AAAA=:",
        "Signature-Input": 'fgpr=("@method" "@target-uri");created=1;nonce="a, b"',
        "Signature": "fgpr=:AAAA=:",
    }
    body = b'{"a":1}' * 30_000
    ask(proxy, "PUT", path, headers=headers, content=body)
    method, target, got, content = taken[-1]
    assert (method, target, content) == ("PUT", PREFIX + path, body)
    assert {name: got[name] for name in headers} == headers


@pytest.mark.parametrize("name", ["X-Forwarded-For", "x-forwarded-for", "Forwarded", "X-Forwarded-Proto"])
def test_nobody_forges_his_address(echoed: tuple[Proxy, list[Any]], name: str) -> None:
    proxy, taken = echoed
    ask(proxy, "GET", "/v1/log/checkpoint", headers=[(name, "9.9.9.9"), (name, "172.30.57.10")])
    got = taken[-1][2]
    assert got.get_all("X-Forwarded-For") == ["127.0.0.1"]
    assert "9.9.9.9" not in str(got)


@pytest.mark.parametrize(
    "path", ["/metrics", "/readyz", "/livez", f"{PREFIX}/metrics", f"{PREFIX}/readyz", f"{PREFIX}x/v1/a", "/v1/a", "/"]
)
def test_what_is_not_for_the_outside(echoed: tuple[Proxy, list[Any]], path: str) -> None:
    proxy, taken = echoed
    before = len(taken)
    answer = httpx.get(proxy.origin + path)
    assert answer.status_code == 404
    assert answer.json()["type"] == "urn:fgpr:problem:unknown-resource"
    assert len(taken) == before


def test_a_body_above_the_limit_is_refused_unread(echoed: tuple[Proxy, list[Any]]) -> None:
    proxy, taken = echoed
    before = len(taken)
    head = "PUT {}/v1/x HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: {}\r\n\r\n"
    with connected(proxy.origin) as connection:
        connection.sendall(head.format(PREFIX, CONTRIBUTION_LIMIT + 1).encode())
        content = b""
        while not content.endswith(b"}"):
            content += connection.recv(65_536)
    told = answer_of(content).problem()
    assert (told["status"], told["type"]) == (413, "urn:fgpr:problem:too-large")
    assert len(taken) == before
    assert ask(proxy, "PUT", "/v1/x", content=bytes(CONTRIBUTION_LIMIT)).status_code == 200


def ask(proxy: Proxy, method: str, path: str, **options: Any) -> httpx.Response:
    """Ask for a path below the prefix."""
    return httpx.request(method, f"{proxy.origin}{PREFIX}{path}", **options)


@contextmanager
def passing() -> Iterator[tuple[int, list[Any]]]:
    """A server that is ready and takes everything: its port, and method, target, header and body of what it got."""
    taken: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            if self.path != "/readyz":
                taken.append((self.command, self.path, self.headers, body))
            content = json.dumps({}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = answer  # noqa: N815  # as http.server wants it

        def log_message(self, *_: object) -> None:
            """Nothing on standard error."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """HAProxy resets connections that it has no more use for."""

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1], taken
        server.shutdown()
        thread.join(10)

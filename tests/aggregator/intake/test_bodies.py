"""Bodies that are packed, slow and many, and addresses that ask too much, over real sockets."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from aggregator.intake.bodies import sender
from fgpr.errors import Unavailable
from support.aggregator import Aggregator, served, wait_until
from support.raw_socket import all_of, answer_of, connected, exchange

PATH = "/v1/federations/engines/rounds/1/openings/client-00"
MIB = 2**20


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aggregator]:
    """Waits a second for a body, and another one for each kilobyte."""
    limits = {"body_seconds": 1.0, "body_rate": 1000}
    with served(tmp_path_factory.mktemp("hasty"), keeps_deadlines=False, **limits) as made:
        made.enrol(1)
        yield made


def head(length: int, *lines: str, method: str = "PUT", path: str = PATH) -> bytes:
    further = "".join(f"{line}\r\n" for line in lines)
    sized = f"Content-Length: {length}\r\n" if length >= 0 else "Transfer-Encoding: chunked\r\n"
    return f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{sized}{further}\r\n".encode()


@pytest.mark.parametrize("sent", [head(10), head(10) + b"{", head(-1), head(-1) + b"1\r\n{\r\n"], ids=repr)
def test_a_body_that_does_not_end_is_not_waited_for(hasty: Aggregator, sent: bytes) -> None:
    before = hasty.dump()
    answer = exchange(hasty.settings.origin, sent)
    assert answer.problem()["type"] == "urn:fgpr:problem:too-slow"
    assert (answer.status, answer.headers["connection"]) == (408, "close")
    assert hasty.dump() == before


@pytest.mark.parametrize(("pause", "size", "status"), [(0.1, 20, 408), (0.1, 2000, 401)])
def test_a_slow_body_has_to_keep_its_rate(hasty: Aggregator, pause: float, size: int, status: int) -> None:
    """20 and 2,000 bytes each tenth of a second, where 1,000 a second are asked for; both end after two seconds."""
    with connected(hasty.settings.origin) as connection:
        connection.sendall(head(20 * size))
        ended = threading.Event()

        def drip() -> None:
            try:
                for _ in range(20):
                    ended.wait(pause)
                    connection.sendall(b"x" * size)
            except OSError:
                pass

        thread = threading.Thread(target=drip)
        thread.start()
        answer = answer_of(connection.recv(65_536))
        ended.set()
        thread.join()
    assert answer.status == status


def test_a_gigabyte_that_is_declared_is_not_waited_for(hasty: Aggregator) -> None:
    # Nothing of it comes: whoever waited for it would answer 408.
    answer = exchange(hasty.settings.origin, head(1024 * MIB))
    assert (answer.status, answer.headers["connection"]) == (413, "close")
    assert answer.problem()["limit"] == MIB


def test_a_gigabyte_in_chunks_is_cut_off(tmp_path: Path) -> None:
    chunk = b"10000\r\n" + bytes(2**16) + b"\r\n"
    with (
        served(tmp_path, keeps_deadlines=False, bodies_bytes=4096 * MIB) as aggregator,
        connected(aggregator.settings.origin) as connection,
    ):
        connection.sendall(head(-1))
        sent = 0
        try:
            while sent < 1024 * MIB:
                connection.sendall(chunk)
                sent += 2**16
        except OSError:
            pass
        content = all_of(connection)
    # What lies in the buffers of the two sockets, and not more.
    assert sent < 64 * MIB
    # The rest of it may reset the connection before the answer is read.
    assert not content or answer_of(content).status == 413


def test_what_nobody_reads_ends_the_connection(hasty: Aggregator) -> None:
    # An unsigned route reads no body: one that never ends would hold the connection for nothing.
    with connected(hasty.settings.origin) as connection:
        connection.sendall(head(10, method="GET", path="/v1/log/checkpoint") + b"{")
        answer = answer_of(all_of(connection))
    assert (answer.status, answer.headers["connection"]) == (200, "close")


def test_a_whole_body_leaves_the_connection_open(hasty: Aggregator) -> None:
    with connected(hasty.settings.origin) as connection:
        for _ in range(3):
            connection.sendall(head(2) + b"{}")
            answer = answer_of(connection.recv(65_536))
            assert answer.status == 401
            assert "connection" not in answer.headers


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "identity, gzip", "GZIP", "x"])
def test_packed_bodies_are_not_unpacked(hasty: Aggregator, coding: str) -> None:
    origin, content = hasty.settings.origin, gzip.compress(bytes(10 * MIB))
    answer = httpx.put(origin + PATH, content=content, headers={"Content-Encoding": coding})
    assert (answer.status_code, answer.headers["accept-encoding"]) == (415, "identity")
    assert "no gzip" in answer.json()["detail"]


def test_a_packed_transfer(hasty: Aggregator) -> None:
    sent = head(0).replace(b"Content-Length: 0", b"Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n"
    assert exchange(hasty.settings.origin, sent).status == 415


def test_identity_is_no_packing(hasty: Aggregator) -> None:
    answer = httpx.put(hasty.settings.origin + PATH, content=b"{}", headers={"Content-Encoding": "identity"})
    assert answer.status_code == 401


def test_all_bodies_together_have_a_limit(tmp_path: Path) -> None:
    with served(tmp_path, keeps_deadlines=False, bodies_bytes=8 * MIB) as aggregator, ExitStack() as stack:
        origin = aggregator.settings.origin
        path = "/v1/federations/engines/rounds/1/contributions/x"

        def sent() -> httpx.Response:
            return httpx.put(origin + path, content=bytes(4 * MIB), timeout=60)

        assert sent().status_code == 401
        for _ in range(2):
            stack.enter_context(connected(origin)).sendall(head(4 * MIB, path=path) + bytes(3 * MIB))
        wait_until(lambda: sent().status_code == 503)
        answer = sent()
        assert answer.headers["retry-after"] == "2"
        assert "too many bodies" in answer.json()["detail"]
        # What was held is free again when its sender goes away.
        stack.close()
        wait_until(lambda: sent().status_code == 401)


def test_one_address_asks_so_much(tmp_path: Path) -> None:
    with (
        served(tmp_path, keeps_deadlines=False, address_rate=0.01, address_burst=5) as aggregator,
        httpx.Client(base_url=aggregator.settings.origin) as client,
    ):
        for _ in range(5):
            assert client.get("/v1/log/checkpoint").status_code == 200
        answer = client.get("/v1/log/checkpoint")
        assert (answer.status_code, answer.json()["type"]) == (429, "urn:fgpr:problem:too-many")
        assert 0 < int(answer.headers["retry-after"]) <= 100
        # Whoever keeps the process alive is not refused; everything else is, and before it is read.
        for path in ("/livez", "/readyz"):
            assert client.get(path).status_code == 200
        for path in ("/metrics", "/nowhere", "/openapi.json"):
            assert client.get(path).status_code == 429
        assert client.put(PATH, content=bytes(MIB)).status_code == 429


def test_one_key_asks_so_much(tmp_path: Path) -> None:
    with served(tmp_path, keeps_deadlines=False, identity_rate=0.01, identity_burst=4) as aggregator:
        first, second = aggregator.enrol(2)
        first.api._attempts = second.api._attempts = 1
        for _ in range(4):
            first.view()
        with pytest.raises(Unavailable, match=r"more than 4 requests at once, or 0\.01 a second, from this key"):
            first.view()
        # Another key has its own allowance, and nobody can use up that of a key which it does not hold.
        second.view()
        stolen = first.transport.requests[-1]
        for _ in range(10):
            forged = httpx.Request("GET", str(stolen.url) + "?wait=1", headers=stolen.headers)
            assert second.transport.inner.handle_request(forged).status_code == 401
        second.view()


@pytest.mark.parametrize("proxies", ["127.0.0.1", "192.0.2.99, 127.0.0.0/8"])
def test_behind_a_proxy_the_client_s_address_counts(tmp_path: Path, proxies: str) -> None:
    limits = {"address_rate": 0.01, "address_burst": 2, "proxies": proxies}
    with (
        served(tmp_path, keeps_deadlines=False, **limits) as aggregator,
        httpx.Client(base_url=aggregator.settings.origin) as client,
    ):
        for address in ("192.0.2.1", "192.0.2.2", "2001:db8::1"):
            headers = {"X-Forwarded-For": address}
            statuses = [client.get("/v1/log/checkpoint", headers=headers).status_code for _ in range(3)]
            assert statuses == [200, 200, 429]
        # What a client wrote itself stands before what the proxy appends: it gives nobody another allowance.
        forged = {"X-Forwarded-For": "198.51.100.1, 192.0.2.1"}
        assert client.get("/v1/log/checkpoint", headers=forged).status_code == 429


@pytest.mark.parametrize("proxies", ["", "192.0.2.99,10.0.0.0/8,::1"])
def test_without_a_proxy_what_a_client_says_of_its_address_does_not_count(tmp_path: Path, proxies: str) -> None:
    limits = {"address_rate": 0.01, "address_burst": 2, "proxies": proxies}
    with (
        served(tmp_path, keeps_deadlines=False, **limits) as aggregator,
        httpx.Client(base_url=aggregator.settings.origin) as client,
    ):
        statuses = [
            client.get("/v1/log/checkpoint", headers={"X-Forwarded-For": f"192.0.2.{number}"}).status_code
            for number in range(3)
        ]
    assert statuses == [200, 200, 429]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("::1", "::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
        ("x" * 1000, "x" * 64),
    ],
)
def test_whose_allowance_it_is(host: str, expected: str) -> None:
    assert sender({"type": "http", "client": (host, 1)}) == expected


def test_a_socket_without_an_address() -> None:
    assert sender({"type": "http", "client": None}) == ""

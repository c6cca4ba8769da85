"""Connections that are slow, wrong and many, over real sockets."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from support.aggregator import Aggregator, served, wait_until
from support.raw_socket import all_of, answer_of, connect, connected, exchange

GET = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
HEAD_SECONDS = 1.0


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aggregator]:
    """Waits a second for a header."""
    with served(tmp_path_factory.mktemp("hasty"), keeps_deadlines=False, head_seconds=HEAD_SECONDS) as made:
        yield made


def cut(aggregator: Aggregator, reason: str) -> float:
    """How many connections were cut for a reason."""
    registry = aggregator.app.state.aggregator.metrics.registry
    return float(registry.get_sample_value("fgpr_connections_cut_total", {"reason": reason}) or 0)


def open_now(aggregator: Aggregator) -> float:
    return float(aggregator.app.state.aggregator.metrics.registry.get_sample_value("fgpr_connections") or 0)


@pytest.mark.parametrize("sent", [b"", b"G", b"\r\n\r\n", b"GET / HTTP/1.1\r\nHost: x\r\nX-A: 1"], ids=repr)
def test_a_header_that_does_not_end_is_not_waited_for(hasty: Aggregator, sent: bytes) -> None:
    before = cut(hasty, "slow head")
    told = exchange(hasty.settings.origin, sent).problem()
    assert (told["status"], told["type"]) == (408, "urn:fgpr:problem:too-slow")
    assert cut(hasty, "slow head") == before + 1


def test_dripping_does_not_help(hasty: Aggregator) -> None:
    with connected(hasty.settings.origin) as connection:
        ended = threading.Event()

        def drip() -> None:
            try:
                while not ended.wait(0.05):
                    connection.sendall(b"\r\n")
            except OSError:
                pass

        thread = threading.Thread(target=drip)
        thread.start()
        assert answer_of(all_of(connection)).status == 408
        ended.set()
        thread.join()


def test_a_second_request_on_a_connection_has_its_own_time(hasty: Aggregator) -> None:
    with connected(hasty.settings.origin) as connection:
        for _ in range(3):
            connection.sendall(GET)
            assert answer_of(connection.recv(65_536)).status == 200
        connection.sendall(GET[:-2])
        assert answer_of(all_of(connection)).status == 408


def test_an_idle_connection_is_closed(hasty: Aggregator) -> None:
    with connected(hasty.settings.origin) as connection:
        connection.sendall(GET)
        assert all_of(connection).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"HELO fgpr\r\n\r\n",
        b"GET /livez HTTP/9.9\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n\r\n",
    ],
    ids=repr,
)
def test_what_is_no_http_gets_a_problem_document(hasty: Aggregator, sent: bytes) -> None:
    answer = exchange(hasty.settings.origin, sent)
    assert answer.status == 400
    assert answer.problem()["type"] == "urn:fgpr:problem:encoding"
    assert answer.headers["connection"] == "close"


def test_an_endless_header(hasty: Aggregator) -> None:
    with connected(hasty.settings.origin) as connection:
        connection.sendall(b"GET /livez HTTP/1.1\r\n")
        try:
            for number in range(1000):
                connection.sendall(b"X-%d: " % number + b"y" * 1000 + b"\r\n")
        except OSError:
            pass
        content = all_of(connection)
    # The rest of it may reset the connection before the answer is read.
    assert not content or answer_of(content).status == 431
    assert cut(hasty, "large head") == 1


def test_a_client_that_does_not_read_its_answer_is_let_go(tmp_path: Path) -> None:
    with served(tmp_path, keeps_deadlines=False, write_seconds=0.5) as aggregator:
        with connected(aggregator.settings.origin) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            request = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
            with suppress(OSError):
                connection.sendall(request * 400)
            wait_until(lambda: cut(aggregator, "slow reader") == 1)
            wait_until(lambda: open_now(aggregator) == 0)
        assert httpx.get(f"{aggregator.settings.origin}/livez").status_code == 200


def test_one_address_holds_so_many_connections(tmp_path: Path) -> None:
    with served(tmp_path, keeps_deadlines=False, connections_each=5) as aggregator, ExitStack() as stack:
        origin = aggregator.settings.origin
        for _ in range(5):
            stack.enter_context(connected(origin)).sendall(b"GET")
        wait_until(lambda: open_now(aggregator) == 5)
        answer = answer_of(all_of(stack.enter_context(connected(origin))))
        assert answer.problem()["type"] == "urn:fgpr:problem:too-many"
        assert answer.headers["retry-after"] == "5"
        stack.close()
        wait_until(lambda: open_now(aggregator) == 0)
        assert httpx.get(f"{origin}/livez").status_code == 200


@pytest.mark.parametrize("proxies", ["127.0.0.1", "127.0.0.0/8"])
def test_a_proxy_holds_as_many_as_it_likes(tmp_path: Path, proxies: str) -> None:
    limits = {"connections_each": 2, "proxies": proxies}
    with served(tmp_path, keeps_deadlines=False, **limits) as aggregator, ExitStack() as stack:
        held = [stack.enter_context(connected(aggregator.settings.origin)) for _ in range(10)]
        for connection in held:
            connection.sendall(GET)
            assert answer_of(connection.recv(65_536)).status == 200


def test_who_waits_for_a_header_makes_room(tmp_path: Path) -> None:
    with served(tmp_path, keeps_deadlines=False, connections=4) as aggregator, ExitStack() as stack:
        origin = aggregator.settings.origin
        first, *others = (stack.enter_context(connected(origin)) for _ in range(4))
        wait_until(lambda: open_now(aggregator) == 4)
        assert httpx.get(f"{origin}/livez").status_code == 200
        assert answer_of(all_of(first)).problem()["type"] == "urn:fgpr:problem:too-slow"
        assert cut(aggregator, "crowded") >= 1
        # Those that came later still have their turn.
        others[-1].sendall(GET)
        assert answer_of(others[-1].recv(65_536)).status == 200


def test_where_nobody_can_make_room_the_newest_is_refused(tmp_path: Path) -> None:
    with served(tmp_path, keeps_deadlines=False, connections=3) as aggregator, ExitStack() as stack:
        origin = aggregator.settings.origin
        (party,) = aggregator.enrol(1)
        party.transport.inner.close()
        wait_until(lambda: open_now(aggregator) == 0)
        body = b"PUT /v1/federations/engines/rounds/1/openings/x HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"
        for _ in range(3):
            stack.enter_context(connected(origin)).sendall(body)
        wait_until(lambda: open_now(aggregator) == 3 and not aggregator.gate.heads)
        answer = answer_of(all_of(stack.enter_context(connected(origin))))
        assert (answer.status, answer.headers["retry-after"]) == (503, "2")
        assert answer.problem()["type"] == "urn:fgpr:problem:unavailable"
        assert cut(aggregator, "full") == 1


@pytest.mark.slow
def test_500_slow_senders_do_not_keep_an_honest_round_from_its_end(tmp_path: Path) -> None:
    limits = {"head_seconds": 3.0, "body_seconds": 3.0, "connections": 400, "connections_each": 1000}
    with served(tmp_path, keeps_deadlines=False, **limits) as aggregator:
        origin = aggregator.settings.origin
        parties = aggregator.enrol(4)
        aggregator.advance()
        body = b"PUT /v1/federations/engines/rounds/1/contributions/x HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n"
        sent = (b"GET /livez HTTP/1.1\r\nX-Slow: ", body + b"Content-Type: application/json\r\n\r\n{")
        stop = threading.Event()
        slow = [connect(origin) for _ in range(500)]

        def drip() -> None:
            for number, connection in enumerate(slow):
                connection.setblocking(False)
                _try_send(connection, sent[number % 2])
            while not stop.wait(0.2):
                for connection in slow:
                    _try_send(connection, b"a")

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            for act in ("contribute", "open"):
                for party in parties:
                    getattr(party, act)()
            assert aggregator.prior().version == 1
            # Every one of them is let go in the end, though it never stopped to send.
            wait_until(lambda: open_now(aggregator) <= len(parties), seconds=60)
        finally:
            stop.set()
            thread.join()
            for connection in slow:
                connection.close()


def _try_send(connection: socket.socket, content: bytes) -> None:
    with suppress(OSError):
        connection.send(content)

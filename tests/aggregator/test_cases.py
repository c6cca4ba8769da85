"""Faults of other services that people reported, here over a real server: cases E3 and E5."""

import resource
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta

import httpx
import pytest
from starlette.datastructures import Headers

from aggregator import auth
from fgpr import signatures
from fgpr.errors import Unauthenticated
from support.aggregator import Aggregator, served
from support.client import NAME
from support.party import refusal
from support.raw_socket import all_of, answer_of, connected

OPENING = f"/v1/federations/{NAME}/rounds/1/openings/client-00"
MIB = 2**20


@pytest.fixture(scope="module")
def aggregator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aggregator]:
    """One in an open round."""
    with served(tmp_path_factory.mktemp("cases"), keeps_deadlines=False) as made:
        made.enrol(4)
        made.advance()
        yield made


@pytest.mark.parametrize(("ahead", "taken"), [(2, True), (30, True), (31, False), (-119, True), (-121, False)])
@pytest.mark.parametrize("days", [0, -1])
def test_e3_a_clock_that_goes_wrong(aggregator: Aggregator, ahead: int, taken: bool, days: int) -> None:
    """A token two seconds ahead was refused without a word on clocks."""
    party = aggregator.parties["client-01"]
    clock, server = party.api._signature._clock, aggregator.clock()
    offset = timedelta(days=days, seconds=ahead)
    party.api._signature._clock = party.api._clock = lambda: server + offset
    try:
        if taken and not days:
            party.view()
            return
        told = refusal(party, Unauthenticated, party.view)
        with pytest.raises(Unauthenticated, match=r"clock skew.*the clock of this machine is \d+ s (ahead|behind)"):
            party.view()
    finally:
        party.api._signature._clock = party.api._clock = clock
    assert told["server_time"] == server.isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize(
    ("ahead", "taken"), [(2, True), (30, True), (60, True), (61, False), (-60, True), (-61, False), (-86_400, False)]
)
def test_e3_with_a_tolerance_of_a_minute(aggregator: Aggregator, ahead: int, taken: bool) -> None:
    party = aggregator.parties["client-02"]
    party.view()
    sent, created = party.transport.requests[-1], aggregator.clock()

    def verify() -> None:
        auth.verify_request(
            sent.method,
            sent.url.raw_path.decode().partition("?")[0],
            sent.url.query.decode(),
            Headers(dict(sent.headers)),
            sent.content,
            origin=aggregator.settings.origin,
            find_key=lambda _: signatures.public_bytes(party.client.identity_key),
            now=created - timedelta(seconds=ahead),
            max_age=timedelta(seconds=60),
            skew=timedelta(seconds=60),
        )

    if taken:
        verify()
    else:
        with pytest.raises(Unauthenticated, match="clock skew"):
            verify()


def peak() -> int:
    """The most memory that this process, the server's too, has had so far; bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def head(*lines: str) -> bytes:
    sent = [f"PUT {OPENING} HTTP/1.1", "Host: x", "Content-Type: application/json", *lines]
    return "\r\n".join([*sent, "", ""]).encode()


def test_e5_a_declared_length_is_refused_unread(aggregator: Aggregator) -> None:
    for length in (2 * MIB, 2**30, 10**30):
        with connected(aggregator.settings.origin) as connection:
            connection.sendall(head(f"Content-Length: {length}"))
            answer = answer_of(all_of(connection))
            # A length beyond 64 bits is no HTTP at all.
            assert answer.status == (413 if length < 2**63 else 400)
            assert answer.headers["connection"] == "close"


def test_e5_a_gigabyte_in_chunks_does_not_fill_the_memory(aggregator: Aggregator) -> None:
    chunk = b"10000\r\n" + bytes(2**16) + b"\r\n"
    sent, before = 0, peak()
    with connected(aggregator.settings.origin) as connection:
        connection.sendall(head("Transfer-Encoding: chunked"))
        try:
            while sent < 2**30:
                connection.sendall(chunk)
                sent += len(chunk)
        except OSError:
            pass
        content = all_of(connection)
    # The sockets' buffers take some megabytes more than the limit.
    assert sent < 64 * MIB
    assert not content or answer_of(content).status == 413
    assert peak() - before < 5 * MIB


def test_e5_a_length_that_lies_hangs_nobody(aggregator: Aggregator) -> None:
    # Too small: the rest is taken for another request, which is none.
    with connected(aggregator.settings.origin) as connection:
        connection.sendall(head("Content-Length: 5") + b'{"a":1}' * 1000)
        answer = answer_of(all_of(connection))
    assert answer.status in (400, 401)
    # Too large: see the deadlines of test_bodies.py. And whoever goes away half-way leaves nothing behind.
    before = aggregator.dump()
    with connected(aggregator.settings.origin) as connection:
        connection.sendall(head("Content-Length: 1000") + b"{")
        connection.shutdown(socket.SHUT_WR)
    assert httpx.get(f"{aggregator.settings.origin}/readyz").status_code == 200
    assert aggregator.dump() == before


def test_e5_exactly_the_limit_is_read_and_only_then_judged(aggregator: Aggregator) -> None:
    headers = {"Content-Type": "application/json"}
    url = aggregator.settings.origin + OPENING
    for size, status in ((MIB, 401), (MIB + 1, 413)):
        assert httpx.put(url, content=b"x" * size, headers=headers).status_code == status


def test_a_storm_of_hang_ups_leaves_no_thread_behind(aggregator: Aggregator) -> None:
    before = threading.active_count()
    for _ in range(100):
        with connected(aggregator.settings.origin) as connection:
            connection.sendall(head("Content-Length: 1000") + b"{")
    assert httpx.get(f"{aggregator.settings.origin}/v1/log/checkpoint").status_code == 200
    # The server's pool may grow to its size, never with the number of connections.
    assert threading.active_count() <= before + 40

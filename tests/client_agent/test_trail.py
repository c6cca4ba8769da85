"""The checkpoints that an agent keeps form one line; leaves between two of them come whole."""

import threading

import pytest

from client_agent import trail as trail_module
from client_agent.federation_client import FederationClient
from client_agent.trail import MOST_LEAVES, Trail
from fgpr import merkle
from fgpr.errors import EncodingError, RemoteProtocolError, VerificationError
from fgpr.secagg.messages import LogPosition
from support.agent_home import InMemory
from support.client import NAME
from support.federation import Federation


@pytest.fixture
def federation():
    federation = Federation(4)
    for name in federation.names:
        federation.revoke(name)
    return federation


@pytest.fixture
def trail(federation, tmp_path):
    connection = InMemory(federation, "client-00", threading.Event())
    return Trail(tmp_path, FederationClient(connection, NAME), federation.anchors.service_key)


def at(federation, size):
    hashes = [merkle.leaf_hash(leaf) for leaf in federation.log.leaves[:size]]
    return LogPosition(size=size, root=merkle.root(hashes))


def test_the_later_checkpoint_is_kept(federation, trail):
    assert trail.kept() is None
    for size, kept in [(2, 2), (5, 5), (5, 5), (3, 5)]:
        trail.follow(at(federation, size))
        assert trail.kept() == at(federation, kept)
    assert trail.newest() == at(federation, 5)


@pytest.mark.parametrize("size", [2, 4, 5])
def test_another_history_is_refused_and_not_kept(federation, trail, size):
    trail.follow(at(federation, 4))
    with pytest.raises(VerificationError):
        trail.follow(LogPosition(size=size, root=bytes(32)))
    assert trail.kept() == at(federation, 4)


def test_a_checkpoint_kept_meanwhile_by_another_process_is_compared(federation, trail, tmp_path):
    trail.follow(at(federation, 2))
    once = [True]

    def meanwhile(_):
        if once:
            once.pop()
            (tmp_path / "checkpoint.json").write_bytes(at(federation, 5).encode())

    trail._client._connection.after = meanwhile
    trail.follow(at(federation, 4))
    assert trail.kept() == at(federation, 5)


def test_damaged_file_is_named(trail, tmp_path):
    (tmp_path / "checkpoint.json").write_bytes(b"{")
    with pytest.raises(EncodingError, match=r"checkpoint\.json is damaged"):
        trail.kept()


def test_no_page_is_longer_than_asked_for(federation, trail, monkeypatch):
    monkeypatch.setattr(trail_module, "PAGE", 1)
    got = []
    trail._client._connection.change["entries"] = lambda page: got.append((page.start, page.end)) or page
    assert trail.span(at(federation, 1), at(federation, 4), None).leaves == tuple(federation.log.leaves[1:4])
    assert got == [(1, 2), (2, 3), (3, 4)]


def test_span_in_pages(federation, trail):
    """The aggregator in memory gives two leaves a page."""
    for start, end in [(0, 5), (1, 4), (2, 2), (4, 3)]:
        span = trail.span(at(federation, start), at(federation, end), at(federation, 5))
        assert span.frontier.root() == at(federation, start).root
        assert span.leaves == tuple(federation.log.leaves[start:end])


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"leaves": (), "end": 1}, RemoteProtocolError),
        ({"start": 2}, RemoteProtocolError),
        ({"end": 9}, RemoteProtocolError),
        ({"leaves": (b"a", b"b", b"c", b"d", b"e", b"f"), "end": 7}, RemoteProtocolError),
        ({"frontier": ()}, EncodingError),
    ],
)
def test_span_of_other_leaves_is_refused(federation, trail, change, error):
    trail._client._connection.change["entries"] = lambda page: page.model_copy(update=change)
    with pytest.raises(error):
        trail.span(at(federation, 1), at(federation, 4), None)


def test_endless_span_is_refused(federation, trail):
    with pytest.raises(RemoteProtocolError, match="at most"):
        trail.span(at(federation, 1), LogPosition(size=MOST_LEAVES + 2, root=bytes(32)), None)

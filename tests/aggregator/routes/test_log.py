import httpx
import pytest

from aggregator.service import audit
from fgpr import merkle
from fgpr.auditlog.bundle import check_key
from fgpr.errors import UnknownResource
from fgpr.rest import CheckpointView, LogEntries, LogProof
from support.aggregator import Aggregator
from support.party import Party, refusal


@pytest.fixture
def parties(aggregator: Aggregator) -> list[Party]:
    """A whole published round and one that was aborted."""
    made = aggregator.enrol(4)
    aggregator.advance()
    for party in made:
        party.contribute()
    for party in made:
        party.open()
    aggregator.pass_contributing()
    return made


def roots(leaves: list[bytes]) -> list[bytes]:
    hashes = [merkle.leaf_hash(leaf) for leaf in leaves]
    return [merkle.root(hashes[:size]) for size in range(len(hashes) + 1)]


def inclusion(party: Party, index: int, size: int) -> tuple[bytes, ...]:
    return LogProof.decode(party.api.get_public("/v1/log/inclusion", {"index": index, "size": size})).hashes


def test_every_proof_holds_over_a_whole_run(aggregator: Aggregator, parties: list[Party]) -> None:
    party, leaves = parties[0], aggregator.raw_leaves()
    now, expected = party.checkpoint(), roots(leaves)
    assert (now.size, now.root) == (len(leaves), expected[-1])
    assert party.entries(0, 1000).leaves == tuple(leaves)
    with httpx.Client(base_url=party.ticket.origin) as client:
        # Through the bare interface: one request for each pair of some sizes.
        sizes = sorted({1, 2, 3, 7, 8, 16, 17, len(leaves) - 1, len(leaves)})
        for size in sizes:
            for index in range(size):
                got = client.get("/v1/log/inclusion", params={"index": index, "size": size})
                proof = LogProof.decode(got.content).hashes
                merkle.verify_inclusion(merkle.leaf_hash(leaves[index]), index, size, proof, expected[size])
        for new in [0, *sizes]:
            for old in range(new + 1):
                got = client.get("/v1/log/consistency", params={"old": old, "new": new})
                proof = LogProof.decode(got.content).hashes
                merkle.verify_consistency(old, expected[old], new, expected[new], proof)


def test_entries_begin_with_a_frontier(aggregator: Aggregator, parties: list[Party]) -> None:
    party, leaves = parties[0], aggregator.raw_leaves()
    expected = roots(leaves)
    for start in range(len(leaves) + 1):
        got = party.entries(start, len(leaves))
        frontier = merkle.Frontier(start, got.frontier)
        assert frontier.root() == expected[start]
        for leaf in got.leaves:
            frontier, _ = frontier.append(merkle.leaf_hash(leaf))
        assert frontier.root() == expected[-1]
    assert (got.start, got.end, got.leaves) == (len(leaves), len(leaves), ())
    assert party.entries(3, 3).leaves == ()


def test_leaves_that_end_before_they_start_are_no_page(parties: list[Party]) -> None:
    """An empty page for such a mistake might be kept for ever."""
    for start, end in ((3, 1), (1, 0), (2**53, 2**53 - 1)):
        answer = asked(parties[0], f"entries?start={start}&end={end}")
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
        assert "cache-control" not in answer.headers
        told = answer.json()
        assert told["type"] == "urn:fgpr:problem:encoding"
        assert told["detail"].startswith(f"end is {end} and start is {start}: ")
        assert told["detail"].endswith("end has to be start or above")


def test_what_the_log_does_not_have(aggregator: Aggregator, parties: list[Party]) -> None:
    party, size = parties[0], len(aggregator.raw_leaves())
    for act in (
        lambda: inclusion(party, 0, size + 1),
        lambda: inclusion(party, size, size),
        lambda: inclusion(party, 0, 0),
        lambda: party.consistency(0, size + 1),
        lambda: party.consistency(2, 1),
        lambda: party.entries(size + 1, size + 2),
        lambda: party.consistency(0, 2**53),
    ):
        assert refusal(party, UnknownResource, act)["status"] == 404


def test_a_page_has_so_many_leaves(parties: list[Party], monkeypatch: pytest.MonkeyPatch) -> None:
    assert audit.MOST_ENTRIES == 1_000
    monkeypatch.setattr(audit, "MOST_ENTRIES", 2)
    page = parties[0].entries(1, 2**40)
    assert (page.start, page.end, len(page.leaves)) == (1, 3, 2)


def test_a_page_has_so_many_bytes(
    aggregator: Aggregator, parties: list[Party], monkeypatch: pytest.MonkeyPatch
) -> None:
    leaves = aggregator.raw_leaves()
    assert audit.MOST_BYTES == 4 * 2**20
    monkeypatch.setattr(audit, "READ_AT_ONCE", 2)
    for first in (0, 1, len(leaves) - 3, len(leaves) - 1):
        for most in (1, len(leaves[first]), sum(map(len, leaves[first : first + 3]))):
            monkeypatch.setattr(audit, "MOST_BYTES", most)
            answer = asked(parties[0], f"entries?start={first}&end={len(leaves)}")
            page = LogEntries.decode(answer.content)
            # One leaf at least, or a reader would ask for ever.
            expected = next(
                (n for n in range(len(leaves) - first, 1, -1) if sum(map(len, leaves[first : first + n])) <= most), 1
            )
            assert list(page.leaves) == leaves[first : first + expected]
            # What a limit cut off is never more.
            assert "immutable" in answer.headers["cache-control"]
            assert ("link" in answer.headers) == (page.end < len(leaves))


def test_the_log_is_read_without_a_signature(parties: list[Party]) -> None:
    answer = httpx.get(f"{parties[0].ticket.origin}/v1/log/entries?start=0&end=1")
    assert answer.status_code == 200


def asked(party: Party, path: str, **headers: str) -> httpx.Response:
    return httpx.get(
        f"{party.ticket.origin}/v1/log/{path}", headers={key.replace("_", "-"): headers[key] for key in headers}
    )


def test_what_never_changes_may_be_kept_for_ever(aggregator: Aggregator, parties: list[Party]) -> None:
    size = len(aggregator.raw_leaves())
    for path in (
        f"entries?start=0&end={size}",
        "entries?start=2&end=5",
        "inclusion?index=1&size=5",
        "consistency?old=2&new=7",
    ):
        answer = asked(parties[0], path)
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable", path
        again = asked(parties[0], path, If_None_Match=answer.headers["ETag"])
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["ETag"] == answer.headers["ETag"]


def test_a_range_that_may_grow_is_asked_for_each_time(aggregator: Aggregator, parties: list[Party]) -> None:
    size = len(aggregator.raw_leaves())
    before = asked(parties[0], f"entries?start=1&end={size + 1}")
    assert before.headers["Cache-Control"] == "no-cache"
    assert f"start={size}&end={size + 1}" in before.headers["Link"]
    aggregator.invite("another")
    after = asked(parties[0], f"entries?start=1&end={size + 1}", If_None_Match=before.headers["ETag"])
    assert (after.status_code, after.headers["Cache-Control"]) == (200, "public, max-age=31536000, immutable")
    assert "Link" not in after.headers
    assert asked(parties[0], "checkpoint").headers["Cache-Control"] == "no-store"


def test_the_checkpoint_comes_with_the_key_that_names_the_log(parties: list[Party]) -> None:
    view = CheckpointView.decode(asked(parties[0], "checkpoint").content)
    assert view.service_key == parties[0].ticket.service_key
    check_key(view.note, view.service_key)


@pytest.mark.parametrize("name", ["Signature", "Signature-Input"])
def test_half_a_signature_is_one_that_does_not_hold(aggregator: Aggregator, name: str) -> None:
    url = f"{aggregator.settings.origin}/v1/log/checkpoint"
    assert httpx.get(url).status_code == 200
    assert httpx.get(url, headers={name: "fgpr=:AAAA:"}).status_code == 401

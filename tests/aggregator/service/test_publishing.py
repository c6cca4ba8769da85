import base64
import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from aggregator.service import publishing, schedule
from aggregator.storage import federations as stored
from fgpr.errors import Unavailable
from fgpr.secagg.contributor import contribute
from fgpr.secagg.encoding import Encoded
from fgpr.secagg.messages import Contribution
from fgpr.secagg.stages import Stage
from support.aggregator import Aggregator
from support.client import NAME, ContributionWritten
from support.party import Party


@pytest.fixture
def four(aggregator: Aggregator) -> list[Party]:
    """Four clients and an open round."""
    parties = aggregator.enrol(4)
    aggregator.advance()
    return parties


@dataclass(frozen=True)
class LyingCodec:
    """Encodes whatever its client wants the sum to be."""

    vector: Sequence[int]
    lower: Sequence[float] = (0.0, 0.0, 0.0)

    def encode(self, _values: np.ndarray, _weight: int) -> Encoded:
        return Encoded(np.array(self.vector, dtype=np.uint64), 1, (), False)


def contribute_vector(party: Party, vector: Sequence[int]) -> None:
    """A well-formed contribution that masks any vector at all."""
    lying = dataclasses.replace(party.check(), codec=LyingCodec(vector))  # type: ignore[arg-type]
    made = contribute(lying, party.name, party.client.identity_key, np.zeros(3), 1, party.random_bytes)
    party.client.journal.append(ContributionWritten(lying.plan.round, made.contribution.encode()))
    party.send_contribution(made.contribution.encode())


LARGEST = 2**30 - 1


@pytest.mark.parametrize(
    ("vectors", "reason"),
    [
        ([[0, 0, 0, 0]] * 4, "total weight 0 of 4 clients is outside"),
        ([[5, 5, 5, 1], [5, 5, 5, 1], [5, 5, 5, 1], [0, 0, 0, 4 * 65_535]], "total weight 262143"),
        ([[5, 5, 5, 1], [5, 5, 5, 1], [5, 5, 5, 1], [4 * LARGEST, 5, 5, 1]], "the average of signal sd is outside"),
        ([[5, 5, 5, 1], [5, 5, 5, 1], [5, 5, 5, 1], [2**61 - 2, 5, 5, 1]], None),
        ([[5, 5, 5, 1], [5, 5, 5, 1], [5, 5, 5, 1], [5, 5, 2**61 - 17, 1]], "the average of length-scale of cycle"),
    ],
    ids=["no examples", "weight above the cap", "above its bound", "wraps to what is allowed", "below its bound"],
)
def test_a_sum_that_honest_clients_cannot_send(
    aggregator: Aggregator, four: list[Party], vectors: list[list[int]], reason: str | None
) -> None:
    for party, vector in zip(four, vectors, strict=True):
        contribute_vector(party, vector)
    for party in four:
        party.open()
    row = aggregator.round(1)
    if reason is None:
        # 15 - 1 is a sum like any other: one client can put the average anywhere inside the bounds.
        assert row.stage is Stage.PUBLISHED
        return
    assert row.stage is Stage.ABORTED
    assert str(row.reason).startswith(reason)
    assert row.empty_cohort is not None
    # The old prior is served, and nothing that is no number is stored.
    assert four[0].prior().prior.message.version == 0
    assert aggregator.prior().version == 0
    for table in aggregator.dump().values():
        assert not re.search(r"[:,\[(] ?-?(nan|inf)", repr(table).lower())


def test_one_survivor_is_not_opened(aggregator: Aggregator, four: list[Party]) -> None:
    survivor = four[0]
    body = survivor.contribution(weight=77)
    survivor.send_contribution(body)
    aggregator.pass_contributing()
    assert aggregator.round(1).stage is Stage.ABORTED
    assert aggregator.round(1).cohort is None
    plain = survivor.encoded[-1].astype("<u8").tobytes()
    aggregator.look()
    files = aggregator.files()
    for secret in (plain, plain[:24], Contribution.decode(body).masked):
        assert secret not in files
        assert base64.b64encode(secret) not in files
        assert secret.hex().encode() not in files


def uploaded(parties: Sequence[Party]) -> list[bytes]:
    """Masked vectors and boxes of the last contributions."""
    parts: list[bytes] = []
    for party in parties:
        written = next(one for one in reversed(party.client.journal) if isinstance(one, ContributionWritten))
        made = Contribution.decode(written.body)
        parts += [made.masked, *made.boxes]
    return parts


def test_what_was_uploaded_is_gone_after_publication(aggregator: Aggregator, four: list[Party]) -> None:
    for party in four:
        party.contribute()
    parts = uploaded(four)
    assert len(parts) == 4 * 5
    files = aggregator.files()
    # It was there: masked vectors as they are, boxes as base64.
    assert parts[0] in files
    assert base64.b64encode(parts[1]) in files
    for party in four:
        party.open()
    assert aggregator.round(1).stage is Stage.PUBLISHED
    check_gone(aggregator, parts)


def test_what_was_uploaded_is_gone_after_an_abort(aggregator: Aggregator, four: list[Party]) -> None:
    for party in four[:2]:
        party.contribute()
    aggregator.pass_contributing()
    assert aggregator.round(1).stage is Stage.ABORTED
    check_gone(aggregator, uploaded(four[:2]))


def check_gone(aggregator: Aggregator, parts: Sequence[bytes]) -> None:
    aggregator.look()
    files = aggregator.files()
    for part in parts:
        # A piece of it is enough to find it where a page border goes through it.
        for piece in (part[:24], part[-24:]):
            assert piece not in files
            assert base64.b64encode(piece) not in files
    rows = aggregator.dump()["contributions"]
    assert rows
    for row in rows:
        assert row[-2:] == (None, None)


@pytest.mark.parametrize("transition", ["close", "abort", "publish", "carry", "plan", "void"])
def test_a_transition_and_its_leaf_stand_or_fall_together(
    aggregator: Aggregator, four: list[Party], transition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lead_to(transition: str) -> None:
        if transition == "plan":
            aggregator.clock.forward(600)
            return
        for party in four[:3]:
            party.contribute()
        four[3].check()
        aggregator.clock.forward(600)
        if transition == "close":
            return
        aggregator.advance()
        if transition == "publish":
            bodies = [party.opening() for party in four]
            with monkeypatch.context() as patched:
                patched.setattr(schedule, "advance", lambda *_: None)
                for party, body in zip(four, bodies, strict=True):
                    party.send_opening(body)
        aggregator.clock.forward(900)
        if transition in ("abort", "publish"):
            return
        aggregator.advance()
        if transition == "void":
            bodies = [party.opening_of_nothing(1) for party in four]
            with monkeypatch.context() as patched:
                patched.setattr(schedule, "advance", lambda *_: None)
                for party, body in zip(four, bodies, strict=True):
                    party.send_opening(body, 1)
            return
        aggregator.clock.forward(900)

    lead_to(transition)
    before = aggregator.dump()
    record = publishing.audit.record

    def fail_afterwards(*args: object) -> int:
        record(*args)  # type: ignore[arg-type]
        raise Unavailable("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(publishing.audit, "record", fail_afterwards)
        with pytest.raises(Unavailable):
            aggregator.advance()
    assert aggregator.dump() == before
    aggregator.advance()
    after = aggregator.dump()
    assert len(after["log_leaves"]) > len(before["log_leaves"])


def test_no_two_priors_of_one_version(aggregator: Aggregator, four: list[Party]) -> None:
    row = aggregator.round(1)
    assert four
    with aggregator.context.database.read() as connection:
        prior, leaf = stored.read_prior(connection, NAME)
    before = aggregator.dump()
    with pytest.raises(Exception, match="published already"), aggregator.context.database.write() as connection:
        stored.add_prior(connection, prior, leaf)
    assert aggregator.dump() == before
    assert row.number == 1

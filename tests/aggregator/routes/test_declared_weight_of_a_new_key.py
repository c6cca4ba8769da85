"""A client whose weight is declared replaces its key: the weight stays, under the new key, in roster, log and draws."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator.service import rosters
from aggregator.service.inspection import verify_database
from fgpr.auditlog.entries import KeyReplaced
from fgpr.errors import EncodingError, FgprError, VerificationError
from fgpr.message import Signed
from fgpr.rotation import RotationRequest
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.roster import Roster
from fgpr.secagg.stages import Stage
from support.aggregator import Aggregator, served, settings_of
from support.client import NAME
from support.party import Party, refusal

RULES = AggregationRules(draw="weights", weighting="uniform", invited_cap=5, weight_cap=1_000)
NEW = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


@pytest.fixture
def aggregator(tmp_path: Path, database_url: str) -> Iterator[Aggregator]:
    with served(tmp_path, settings_of(rules=RULES), keeps_deadlines=False, url=database_url) as made:
        yield made


def enrolled(aggregator: Aggregator) -> list[Party]:
    """Six clients with 100, 120, ..., 200 rows."""
    parties = [aggregator.party(f"client-{number:02d}") for number in range(6)]
    for place, party in enumerate(parties):
        party.rows = 100 + 20 * place
        party.enrol()
    return parties


def play(aggregator: Aggregator, parties: list[Party]) -> None:
    """A round of whoever is drawn."""
    number = aggregator.last_round()
    invited = parties[0].plan().message.invited
    for party in parties:
        party.check()
    for party in parties:
        if party.name in invited:
            party.contribute(weight=party.rows)
    aggregator.advance()
    for party in parties:
        party.open()
    aggregator.advance()
    assert aggregator.round(number).stage is Stage.PUBLISHED


def test_the_weight_stays_in_the_log(aggregator: Aggregator) -> None:
    parties = enrolled(aggregator)
    aggregator.advance()
    play(aggregator, parties)
    parties[0].rotate()
    parties[0].rotate()
    leaf = aggregator.last("rotated")
    assert isinstance(leaf, KeyReplaced)
    assert leaf.declared is not None
    leaf.declared.verify(parties[0].client.public_key())
    verify_database(aggregator.context.database, aggregator.anchors())


def test_the_next_roster_names_the_weight_under_the_new_key(aggregator: Aggregator) -> None:
    parties = enrolled(aggregator)
    parties[0].rotate()
    aggregator.advance()
    roster = parties[0].roster(1).message
    assert roster.weights() == {party.name: party.rows for party in parties}
    roster.verify_declared()
    play(aggregator, parties)
    trail = verify_database(aggregator.context.database, aggregator.anchors())
    assert [signed.message.weight for signed in trail.declared[NAME, "client-00"]] == [100, 100]


@pytest.mark.parametrize(
    ("declared", "kind", "reason"),
    [
        (lambda _: None, EncodingError, "declared weight 100 when it enrolled"),
        (lambda party: party.declared(101, key=NEW), EncodingError, "declares the same"),
        (lambda party: party.declared(100, key=NEW, client="client-01"), EncodingError, "declares the same"),
        (lambda party: party.declared(100), VerificationError, "does not hold"),
    ],
)
def test_other_declarations_are_refused(
    aggregator: Aggregator, declared: Callable[[Party], Any], kind: type[FgprError], reason: str
) -> None:
    party = enrolled(aggregator)[0]
    good = RotationRequest.decode(party.rotation(NEW))
    body, before = good.model_copy(update={"declared": declared(party)}).encode(), aggregator.dump()
    assert reason in refusal(party, kind, lambda: party.send_rotation(body))["detail"]
    assert aggregator.dump() == before
    party.send_rotation(good.encode())


def test_who_declared_nothing_declares_nothing_later(aggregator: Aggregator) -> None:
    reader = aggregator.party("reader", "reader")
    reader.enrol()
    good = RotationRequest.decode(reader.rotation(NEW))
    body = good.model_copy(update={"declared": reader.declared(9, key=NEW)}).encode()
    assert "declared no weight" in refusal(reader, EncodingError, lambda: reader.send_rotation(body))["detail"]


def test_a_roster_exported_before_the_replacement_is_taken_in(aggregator: Aggregator) -> None:
    parties = enrolled(aggregator)
    draft = rosters.export(aggregator.context, NAME)
    parties[0].rotate()
    key = aggregator.context.keys.roster(NAME)
    # The old key with the new key's declaration is neither.
    mixed = rosters.export(aggregator.context, NAME).clients[0].declared
    entry = draft.clients[0].model_copy(update={"declared": mixed})
    lie = draft.model_copy(update={"clients": (entry, *draft.clients[1:])}).with_nonce(bytes(32))
    with pytest.raises(VerificationError, match="does not hold"):
        rosters.bring_in(aggregator.context, Signed[Roster].make(key, lie))
    assert rosters.bring_in(aggregator.context, Signed[Roster].make(key, draft.with_nonce(bytes(32))))
    verify_database(aggregator.context.database, aggregator.anchors())

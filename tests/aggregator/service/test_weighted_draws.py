"""A federation that draws by declared weights, over HTTP: enrolment, roster, a published round, its trail."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator.service import inspection, rosters
from aggregator.service.roster_signing import sign_draft
from fgpr.errors import EncodingError, FgprError, PlanRefused, VerificationError
from fgpr.message import Signed
from fgpr.secagg import weighted_draw
from fgpr.secagg.committee import INVITED
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.roster import Roster
from fgpr.secagg.stages import Stage
from support.aggregator import Aggregator, served, settings_of
from support.client import NAME
from support.party import Party, refusal

RULES = AggregationRules(draw="weights", weighting="uniform", invited_cap=5, weight_cap=1_000)
ROWS = (100, 120, 140, 160, 180, 200)
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(64, 96)))


@pytest.fixture
def aggregator(tmp_path: Path) -> Iterator[Aggregator]:
    with served(tmp_path, settings_of(rules=RULES), keeps_deadlines=False) as made:
        yield made


def enrolled(aggregator: Aggregator) -> list[Party]:
    """Six clients with 100, 120, ..., 200 rows."""
    parties = [aggregator.party(f"client-{number:02d}") for number in range(len(ROWS))]
    for party, rows in zip(parties, ROWS, strict=True):
        party.rows = rows
        party.enrol()
    return parties


def test_a_round_of_the_drawn_is_published_and_its_trail_verifies(aggregator: Aggregator) -> None:
    parties = enrolled(aggregator)
    aggregator.advance()
    plan = parties[0].plan().message
    roster = parties[0].roster(1).message
    assert roster.weights() == {party.name: party.rows for party in parties}
    assert plan.draw == "weights"
    assert plan.invited == weighted_draw.draw(roster.weights(), 5, roster.nonce, 0, INVITED)
    # 0.2 * 900 = 180 rows: no two clients have as few.
    assert plan.min_cohort == 3
    drawn = [party for party in parties if party.name in plan.invited]
    assert len(drawn) == 5
    for party in parties:
        party.check()
    for party in drawn:
        party.contribute(weight=party.rows)
    aggregator.advance()
    # t = 5 and one to spare.
    for party in parties:
        party.open()
    aggregator.advance()
    assert aggregator.round(1).stage is Stage.PUBLISHED
    opened = aggregator.prior().opened
    assert opened is not None
    # Uniform: the rows counted in the draw.
    assert (opened.clients, opened.total_weight) == (5, 5)
    trail = inspection.verify_database(aggregator.context.database, aggregator.anchors())
    assert {client: signed.message.weight for (_, client), (signed,) in trail.declared.items()} == roster.weights()


def test_a_client_that_is_not_drawn_has_nothing_to_contribute(aggregator: Aggregator) -> None:
    parties = enrolled(aggregator)
    aggregator.advance()
    invited = parties[0].plan().message.invited
    (left_out,) = [party for party in parties if party.name not in invited]
    with pytest.raises(FgprError, match="is not invited"):
        left_out.contribution()


@pytest.mark.parametrize(
    ("change", "kind", "reason"),
    [
        (lambda _: {"declared": None}, EncodingError, "enrols with the weight that it declares"),
        (lambda party: {"declared": party.declared(1_001)}, EncodingError, "is 1001; this federation caps it at 1000"),
        (lambda party: {"declared": party.declared(9, client="client-09")}, EncodingError, "names this federation and"),
        (
            lambda party: {"declared": party.declared(9, federation="bridges")},
            EncodingError,
            "names this federation and",
        ),
    ],
)
def test_declarations_that_are_refused(aggregator: Aggregator, change: Any, kind: type[FgprError], reason: str) -> None:
    party = aggregator.party("client-00")
    body, before = party.enrolment().model_copy(update=change(party)).encode(), aggregator.dump()
    assert reason in refusal(party, kind, lambda: party.api.post("/v1/enrolments", body))["detail"]
    assert aggregator.dump() == before


def test_a_declaration_that_another_key_signed(aggregator: Aggregator) -> None:
    party, other = aggregator.party("client-00"), aggregator.party("client-01")
    forged = other.declared(9, client="client-00")
    body = party.enrolment().model_copy(update={"declared": forged}).encode()
    assert refusal(party, VerificationError, lambda: party.api.post("/v1/enrolments", body))["status"] == 422


def test_readers_and_federations_that_draw_by_heads_declare_nothing(aggregator: Aggregator, tmp_path: Path) -> None:
    reader = aggregator.party("bench-1", "reader")
    assert reader.ticket.weight_cap is None
    body = reader.enrolment().model_copy(update={"declared": reader.declared(9)}).encode()
    assert "others without" in refusal(reader, EncodingError, lambda: reader.api.post("/v1/enrolments", body))["detail"]
    reader.enrol()
    (tmp_path / "heads").mkdir()
    with served(tmp_path / "heads", keeps_deadlines=False) as heads:
        party = heads.party("client-00")
        assert party.ticket.weight_cap is None
        body = party.enrolment().model_copy(update={"declared": party.declared(9)}).encode()
        refusal(party, EncodingError, lambda: party.api.post("/v1/enrolments", body))


@pytest.mark.parametrize("changed", ["none", "another"])
def test_a_weight_that_was_changed_in_the_database_is_found(aggregator: Aggregator, changed: str) -> None:
    first = enrolled(aggregator)[0]
    inspection.verify_database(aggregator.context.database, aggregator.anchors())
    document = None if changed == "none" else first.declared(999).encode()
    connection = sqlite3.connect(aggregator.path)
    with connection:
        connection.execute("UPDATE clients SET declared = ? WHERE client = 'client-00'", (document,))
    connection.close()
    with pytest.raises(VerificationError, match=r"the clients of .* are not the logged ones"):
        inspection.verify_database(aggregator.context.database, aggregator.anchors())


def test_a_log_whose_roster_contradicts_an_enrolment(aggregator: Aggregator) -> None:
    first = enrolled(aggregator)[0]
    connection = sqlite3.connect(aggregator.path)
    with connection:
        # Signed by the client itself, and yet not what it declared when it enrolled.
        connection.execute(
            "UPDATE clients SET declared = ? WHERE client = 'client-00'", (first.declared(999).encode(),)
        )
    connection.close()
    aggregator.advance()
    with pytest.raises(VerificationError, match="client-00 declared another weight when it enrolled"):
        inspection.verify_database(aggregator.context.database, aggregator.anchors())


def test_a_roster_signed_elsewhere_shows_weights_and_takes_no_others(tmp_path: Path) -> None:
    with served(tmp_path, settings_of(rules=RULES), keeps_deadlines=False, roster_key=KEY.public_key()) as aggregator:
        parties = enrolled(aggregator)
        draft = rosters.export(aggregator.context, NAME)
        first, *rest = draft.clients
        # The operator cannot have another weight signed: the signer looks at the client's signature.
        lighter = first.declared
        assert lighter is not None
        forged = lighter.model_copy(update={"message": lighter.message.model_copy(update={"weight": 1})})
        lie = draft.model_copy(update={"clients": (first.model_copy(update={"declared": forged}), *rest)})
        with pytest.raises(VerificationError, match="does not hold"):
            sign_draft(lie, None, KEY, aggregator.context.random_bytes)
        # Nor can the signer bring in one that the enrolment does not have.
        again = first.model_copy(update={"declared": parties[0].declared(1)})
        roster = draft.model_copy(update={"clients": (again, *rest)}).with_nonce(bytes(32))
        with pytest.raises(VerificationError, match="client-00 did not declare the weight"):
            rosters.bring_in(aggregator.context, Signed[Roster].make(KEY, roster))
        rosters.bring_in(aggregator.context, sign_draft(draft, None, KEY, aggregator.context.random_bytes))
        aggregator.advance()
        assert parties[0].check().committee.corrupt_invited == 1


def test_an_aggregator_that_reweighs_a_client_is_refused_by_all(aggregator: Aggregator) -> None:
    # It holds the roster key; what it lacks is the client's own signature.
    parties = enrolled(aggregator)
    other = aggregator.party("client-06")
    connection = sqlite3.connect(aggregator.path)
    with connection:
        forged = other.declared(1, client="client-00").encode()
        connection.execute("UPDATE clients SET declared = ? WHERE client = 'client-00'", (forged,))
    connection.close()
    aggregator.advance()
    for party in parties:
        with pytest.raises(PlanRefused, match="check 7"):
            party.check()

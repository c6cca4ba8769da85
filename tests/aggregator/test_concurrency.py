"""Many threads on one SQLite database (each request runs in a thread of its own)."""

import numpy as np

from aggregator.service import enrolment
from fgpr.errors import FgprError
from fgpr.secagg.stages import Stage
from support.aggregator import Aggregator, together
from support.client import NAME
from support.party import Party, Recorded


def split(party: Party, aggregator: Aggregator) -> Party:
    """The same party over a connection of its own."""
    twin = Party(party.ticket, Recorded(), aggregator.clock, aggregator.context.random_bytes)
    twin.client = party.client
    twin.api = twin.api_as(party.client.identity_key, aggregator.clock)
    return twin


def test_mixed_requests_from_twenty_threads(aggregator: Aggregator) -> None:
    """Case E2: a connection of SQLite was closed in another thread than it was made in."""
    parties = aggregator.enrol(4)
    aggregator.advance()
    bodies = {party.name: party.contribution() for party in parties[:3]}
    twins = [split(parties[number % 3], aggregator) for number in range(20)]

    def ten_requests(party: Party, number: int) -> list[int]:
        for step in range(10):
            match (number + step) % 5:
                case 0:
                    party.view()
                case 1:
                    party.send_contribution(bodies[party.name], 1)
                case 2:
                    party.prior()
                case 3:
                    party.checkpoint()
                case _:
                    try:
                        party.send_contribution(b"{}", 1)
                    except FgprError:
                        assert party.transport.answers[-1][0] in (409, 422)
        return [status for status, _ in party.transport.answers]

    acts = [lambda party=party, number=number: ten_requests(party, number) for number, party in enumerate(twins)]
    results = together(acts)
    for twin in twins:
        twin.api.close()
    assert not [result for result in results if isinstance(result, Exception)]
    statuses = np.concatenate([np.array(result) for result in results])
    assert statuses.size == 200
    assert set(statuses.tolist()) <= {200, 409, 422}
    # One row a client, whatever came how often; no transaction left open, every connection back in its place.
    assert len(aggregator.dump()["contributions"]) == 3
    assert aggregator.context.database.engine.pool.checkedout() == 0  # type: ignore[attr-defined]
    parties[3].contribute()
    assert aggregator.round(1).stage is Stage.OPENING


def test_every_opening_at_once(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    sent = together([party.contribute for party in parties])
    assert not [result for result in sent if isinstance(result, Exception)]
    cohort = aggregator.round(1).cohort
    assert cohort is not None
    assert len(cohort.message.members) == 4
    sent = together([party.open for party in parties])
    assert not [result for result in sent if isinstance(result, Exception)]
    assert aggregator.steps()[2:] == ["plan", "cohort", "prior", "plan"]


def test_a_revocation_and_a_contribution_at_once(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(5)
    aggregator.advance()
    for party in parties[:4]:
        party.contribute()
    body = parties[4].contribution()
    results = together(
        [
            lambda: parties[4].send_contribution(body),
            lambda: enrolment.revoke(aggregator.context, NAME, "client-04"),
        ]
    )
    aggregator.advance()
    cohort = aggregator.round(1).cohort
    assert cohort is not None
    leaves = aggregator.leaves()
    revoked = next(place for place, leaf in enumerate(leaves) if leaf.kind == "revoked")
    # Either way round, a cohort whose checkpoint comes after the revocation does not count it.
    assert ("client-04" in cohort.message.clients()) == (revoked >= cohort.message.checkpoint.size)
    assert results[1] is None

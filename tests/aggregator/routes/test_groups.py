"""Federations whose cohorts are dealt to groups, over HTTP: bad clients stop nobody, the trust region holds."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from aggregator.service import inspection
from fgpr.auditlog.entries import Convicted, PriorPublished
from fgpr.secagg.contributor import FIELD
from fgpr.secagg.messages import Contribution
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.stages import Stage
from support import malice
from support.aggregator import Aggregator, served, settings_of
from support.federation import SPEC
from support.party import Party, repacked

RULES = AggregationRules(groups=3, combine="median", largest_step=0.5)
"""Fifteen clients: three groups of five, all of which have to be there; x = 3, t = 10."""

LIAR = 2
START = SPEC.initial_theta


@pytest.fixture
def aggregator(tmp_path: Path, database_url: str) -> Iterator[Aggregator]:
    settings = settings_of(rules=RULES, min_clients=14)
    with served(tmp_path, settings, keeps_deadlines=False, url=database_url) as made:
        yield made


def enrolled(aggregator: Aggregator) -> list[Party]:
    parties = aggregator.enrol(15)
    aggregator.advance()
    return parties


def open_all(aggregator: Aggregator, parties: list[Party]) -> None:
    number = aggregator.last_round()
    for party in parties:
        if aggregator.round(number).stage is Stage.OPENING:
            party.open()


def verify(aggregator: Aggregator) -> None:
    inspection.verify_database(aggregator.context.database, aggregator.anchors())


def test_a_federation_with_a_client_that_always_sends_bad_boxes_still_publishes(aggregator: Aggregator) -> None:
    parties = enrolled(aggregator)
    honest = [party for number, party in enumerate(parties) if number != LIAR]
    body = parties[LIAR].contribution()
    garbage = tuple(bytes(len(box)) for box in Contribution.decode(body).boxes)
    parties[LIAR].send_contribution(repacked(body, parties[LIAR].client.identity_key, boxes=garbage))
    for party in honest:
        party.contribute()
    # More than x complain; then too few are left to open.
    for party in honest:
        if aggregator.round(1).stage is Stage.OPENING:
            party.complain()
    assert [leaf.client for leaf in aggregator.leaves() if isinstance(leaf, Convicted)] == ["client-02"]
    for party in honest:
        if aggregator.round(1).stage is Stage.ABORTED:
            party.open_nothing(1)
    assert aggregator.round(1).stage is Stage.VOID
    plan = honest[0].plan().message
    assert (plan.round, plan.groups, sorted(map(len, plan.parts(plan.invited)))) == (2, 3, [4, 5, 5])
    assert "client-02" not in plan.invited
    for party in honest:
        party.contribute(START + 0.25)
    open_all(aggregator, honest)
    record = aggregator.prior()
    assert (record.version, record.reason) == (1, "averaged")
    verify(aggregator)


def test_a_client_whose_shares_are_wrong_costs_its_own_group_only(aggregator: Aggregator) -> None:
    parties = enrolled(aggregator)
    liar, plan = parties[LIAR], parties[LIAR].plan().message
    body = liar.contribution()
    made, wrong = Contribution.decode(body), FIELD.to_bytes(FIELD.array([1, 2, 3, 4]))
    # Of fifteen openings at threshold ten, two wrong positions are mended: here are six.
    for seat in range(1, 7):
        box = malice.box_of(plan, liar.client, seat, wrong)
        made = malice.with_box(made, seat, box, liar.client.identity_key)
    liar.send_contribution(made.encode())
    for party in parties:
        if party is not liar:
            party.contribute(START + 0.25)
    open_all(aggregator, parties)
    assert aggregator.round(1).stage is Stage.PUBLISHED
    np.testing.assert_allclose(aggregator.prior().theta, START + 0.25, atol=1e-8)
    opened = aggregator.prior().opened
    assert opened is not None
    number = plan.dealt[LIAR]
    assert opened.sum[(number - 1) * 32 : number * 32] == bytes(32)
    assert opened.total_weight == 2 * 5 * 10
    verify(aggregator)


def test_beyond_the_trust_region_the_old_theta_stays_and_the_round_says_why(aggregator: Aggregator) -> None:
    parties = enrolled(aggregator)
    before = aggregator.prior()
    for party in parties:
        party.contribute(before.vector() + np.array([0.0, 0.75, -0.25]))
    open_all(aggregator, parties)
    row, record = aggregator.round(1), aggregator.prior()
    assert (row.stage, row.reason) == (
        Stage.CARRIED,
        "the average moves noise sd by 0.75; the largest step is 0.5",
    )
    assert (record.reason, record.version, record.theta_version, record.theta) == ("kept", 1, 0, before.theta)
    leaf = next(leaf for leaf in reversed(aggregator.leaves()) if isinstance(leaf, PriorPublished))
    assert len(leaf.openings) >= 10
    # Masked vectors and boxes are gone, and the next round serves the same theta, roster and seats.
    assert not [line for line in aggregator.dump()["contributions"] if bytes in map(type, line[5:])]
    plan = parties[0].plan().message
    assert (plan.round, plan.prior_version, plan.theta_version, plan.roster_version) == (2, 1, 0, 1)
    for party in parties[1:]:
        party.contribute(before.vector())
    aggregator.pass_contributing()
    # One client fewer in a group: it would be seen alone. With that group left out, too few are left.
    assert aggregator.round(2).stage is Stage.ABORTED
    told = str(aggregator.round(2).reason)
    assert told.startswith(
        "14 contributions could be counted, 5 are needed in each of 3 of the 3 groups; an earlier sum"
    )
    verify(aggregator)


def test_after_a_kept_theta_the_same_clients_publish_the_next_one(aggregator: Aggregator) -> None:
    parties = enrolled(aggregator)
    for party in parties:
        party.contribute(aggregator.prior().vector() + 0.75)
    open_all(aggregator, parties)
    for party in parties:
        party.contribute(aggregator.prior().vector())
    open_all(aggregator, parties)
    assert aggregator.round(2).stage is Stage.PUBLISHED
    assert aggregator.prior().theta_version == 2
    verify(aggregator)

from dataclasses import replace
from datetime import timedelta

import pytest

from aggregator.storage import contributions, rounds
from aggregator.storage.contributions import ContributionRow
from aggregator.storage.rounds import Position
from fgpr.errors import Unavailable, UnknownResource
from fgpr.message import Signed, instant
from fgpr.secagg.messages import Contribution, Opening
from fgpr.secagg.stages import Stage
from support.aggregator import Aggregator
from support.client import NAME, CohortOpened


def test_a_round_moves_from_the_stage_that_was_read_only(aggregator: Aggregator) -> None:
    aggregator.enrol(4)
    aggregator.advance()
    row = aggregator.round(1)
    with aggregator.context.database.write() as connection:
        rounds.move(connection, row, Stage.OPENING)
    before = aggregator.dump()
    with pytest.raises(Unavailable, match="moved meanwhile"), aggregator.context.database.write() as connection:
        rounds.move(connection, row, Stage.ABORTED, reason="too late")
    with pytest.raises(Unavailable), aggregator.context.database.write() as connection:
        rounds.move(connection, replace(row, federation="another"), Stage.OPENING)
    assert aggregator.dump() == before


def test_one_round_a_number(aggregator: Aggregator) -> None:
    aggregator.enrol(4)
    aggregator.advance()
    plan, until = aggregator.round(1).plan, aggregator.clock() + timedelta(hours=1)
    before = aggregator.dump()
    with pytest.raises(Unavailable, match="opened meanwhile"), aggregator.context.database.write() as connection:
        rounds.add(connection, plan, until, until)
    assert aggregator.dump() == before
    with aggregator.context.database.read() as connection:
        assert rounds.read(connection, NAME, 1) == rounds.read_last(connection, NAME)
        with pytest.raises(UnknownResource, match="no round 2"):
            rounds.read(connection, NAME, 2)


def test_one_contribution_and_one_opening_a_client(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    for party in parties:
        party.contribute()
    parties[0].open()
    with aggregator.context.database.read() as connection:
        (first, *_) = contributions.read_all(connection, NAME, 1)
        named = ["client-00", "stranger"]
        assert contributions.read_body_digests(connection, NAME, 1, named) == {"client-00": first.body_digest}
        assert contributions.read_body_digests(connection, NAME, 1, []) == {}
        assert contributions.read_headers(connection, NAME, 1)["client-00"] == first.header.message
        assert contributions.read_masked(connection, NAME, 1)["client-00"] == first.masked
        assert contributions.count(connection, NAME, 1) == 4
        assert contributions.contributors(connection, NAME, 1) == {party.name for party in parties}
        assert rounds.count_openings(connection, NAME, 1) == 1
    opened = next(one for one in parties[0].client.journal if isinstance(one, CohortOpened))
    before = aggregator.dump()
    with pytest.raises(Unavailable, match="another request"), aggregator.context.database.write() as connection:
        contributions.add(connection, NAME, 1, first)
    with pytest.raises(Unavailable, match="another request"), aggregator.context.database.write() as connection:
        rounds.add_opening(connection, Signed[Opening].decode(opened.body))
    assert aggregator.dump() == before


def test_secret_parts_are_not_shown(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    made = Contribution.decode(parties[0].contribution())
    row = ContributionRow("client-00", bytes(32), made.header, made.masked, b"sealed boxes")
    assert repr(made.masked) not in repr(made)
    assert repr(made.masked) not in repr(row)
    assert "sealed boxes" not in repr(row)


def test_unsettled_rounds_are_the_newest_of_the_present_prior(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    with aggregator.context.database.read() as connection:
        assert rounds.read_position(connection, NAME) == Position(0, None, (), "open")
    aggregator.advance()
    aggregator.pass_contributing()
    aggregator.pass_contributing()
    aggregator.pass_pause()

    def unsettled() -> list[int]:
        with aggregator.context.database.read() as connection:
            position = rounds.read_position(connection, NAME)
            assert list(position.unsettled) == [row.number for row in rounds.read_unsettled(connection, NAME)]
            assert (position.number, position.stage) == (aggregator.last_round(), "contributing")
            return list(position.unsettled)

    assert unsettled() == [1, 2]
    for party in parties:
        party.contribute()
    for party in parties:
        party.open()
    # A new prior: what was aborted before it concerns nobody any more.
    assert unsettled() == []
    aggregator.pass_contributing()
    assert unsettled() == [4]
    with aggregator.context.database.read() as connection:
        assert [row.number for row in rounds.read_in_stage(connection, NAME, [Stage.ABORTED])] == [1, 2, 4]
        assert [row.number for row in rounds.read_list(connection, NAME, before=4, limit=2)] == [3, 2]
        assert rounds.count_published(connection, NAME) == 1


def test_plan_and_columns_agree(aggregator: Aggregator) -> None:
    aggregator.clock.forward(0.0004567)
    aggregator.enrol(4)
    aggregator.advance()
    row = aggregator.round(1)
    plan = row.plan.message
    # The deadline that clients are told is never later than the one that is kept.
    assert timedelta(0) <= row.contribute_until - instant(plan.contribute_until) < timedelta(milliseconds=1)
    assert timedelta(0) <= row.open_until - instant(plan.open_until) < timedelta(milliseconds=1)

"""What a round erased stands in the write-ahead log until the deadlines look; no request waits for that."""

from pathlib import Path

import pytest
from sqlalchemy import text

from aggregator.service import enrolment
from fgpr.errors import CommitteeError
from fgpr.secagg.messages import Contribution
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.stages import Stage
from support.aggregator import Aggregator, served, settings_of, wait_until
from support.client import NAME, ContributionWritten
from support.party import Party


def masked_of(party: Party) -> bytes:
    """The masked vector of its last contribution."""
    written = [one for one in party.client.journal if isinstance(one, ContributionWritten)]
    return Contribution.decode(written[-1].body).masked


def stands(aggregator: Aggregator, masked: bytes) -> bool:
    """Whether it is in the file or its write-ahead log; a page border may go through it."""
    files = aggregator.files()
    return masked[:24] in files or masked[-24:] in files


def test_one_look_takes_it_away_though_no_round_can_follow(tmp_path: Path) -> None:
    rules = AggregationRules(min_cohort=4)
    with served(tmp_path, settings_of(rules=rules, min_clients=3), keeps_deadlines=False) as aggregator:
        parties = aggregator.enrol(4)
        aggregator.advance()
        for party in parties:
            party.contribute()
        masked = masked_of(parties[0])
        parties[3].open()
        enrolment.revoke(aggregator.context, NAME, "client-03")
        for party in parties[:3]:
            party.open()
        assert aggregator.round(1).stage is Stage.PUBLISHED
        with pytest.raises(CommitteeError, match="min_cohort 4"):
            aggregator.advance()
        # Neither the request that published nor any other one waited for readers to empty the log.
        assert stands(aggregator, masked)
        aggregator.look()
        assert not stands(aggregator, masked)


def test_the_deadlines_do_it_while_everybody_waits(tmp_path: Path) -> None:
    with served(tmp_path) as keeping:
        parties = keeping.enrol(4)
        wait_until(lambda: keeping.last_round() == 1)
        for party in parties:
            party.contribute()
        masked = masked_of(parties[0])
        assert stands(keeping, masked)
        for party in parties:
            party.open()
        assert keeping.round(1).stage is Stage.PUBLISHED
        wait_until(lambda: not stands(keeping, masked))


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_postgresql_gives_up_the_old_row_versions(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    for party in parties:
        party.contribute()
    for party in parties:
        party.open()
    assert aggregator.round(1).stage is Stage.PUBLISHED

    def vacuums() -> int:
        with aggregator.context.database.read() as connection:
            query = text("SELECT vacuum_count FROM pg_stat_user_tables WHERE relname = 'contributions'")
            return int(connection.execute(query).scalar_one())

    before = vacuums()
    aggregator.look()
    wait_until(lambda: vacuums() > before)
    # Nothing was erased since: the next look has nothing to do.
    after = vacuums()
    aggregator.look()
    assert vacuums() == after

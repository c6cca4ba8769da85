import pytest

from aggregator.keys import KeyDirectory
from aggregator.service import federations as service
from aggregator.storage import federations
from fgpr import signatures
from fgpr.auditlog.entries import FederationCreated, PriorPublished
from fgpr.errors import Conflict, UnknownResource
from support.aggregator import Aggregator, settings_of
from support.client import NAME


def test_a_federation_is_read_as_it_was_created(aggregator: Aggregator) -> None:
    with aggregator.context.database.read() as connection:
        row = federations.read(connection, NAME)
        assert row.settings == aggregator.federation
        assert row.roster_key == signatures.public_bytes(aggregator.context.keys.roster(NAME))
        assert row.roster_stale
        with pytest.raises(UnknownResource, match="'nowhere'"):
            federations.read(connection, "nowhere")
        prior, leaf = federations.read_prior(connection, NAME)
        assert (prior.message.version, prior.message.reason, leaf) == (0, "initial", 1)
        for version in (1, -1):
            with pytest.raises(UnknownResource, match=f"no prior {version}"):
                federations.read_prior(connection, NAME, version)
        assert federations.read_roster(connection, NAME) is None
        assert federations.read_roster(connection, NAME, 1) is None


def test_a_name_is_taken_once(aggregator: Aggregator) -> None:
    key = KeyDirectory(aggregator.settings.keys).ensure_roster("another")
    before = aggregator.dump()
    with pytest.raises(Conflict, match="a federation engines already"):
        service.create(aggregator.context, settings_of(), key)
    assert aggregator.dump() == before
    service.create(aggregator.context, settings_of("another"), key)
    with aggregator.context.database.read() as connection:
        assert federations.names(connection) == ["another", NAME]
    created, first = aggregator.leaves()[-2:]
    assert isinstance(created, FederationCreated)
    assert created.settings == settings_of("another")
    assert created.roster_key == signatures.public_bytes(key)
    assert isinstance(first, PriorPublished)
    assert first.prior.message.federation == "another"


def test_rosters_follow_the_membership(aggregator: Aggregator) -> None:
    aggregator.enrol(4)
    aggregator.advance()
    with aggregator.context.database.read() as connection:
        assert not federations.read(connection, NAME).roster_stale
        first = federations.read_roster(connection, NAME)
    aggregator.pass_contributing()
    with aggregator.context.database.read() as connection:
        # Nobody came or went: the same version serves the next round.
        assert federations.read_roster(connection, NAME) == first
    aggregator.party("reader", "reader").enrol()
    with aggregator.context.database.read() as connection:
        assert not federations.read(connection, NAME).roster_stale
    aggregator.enrol(1, first=4)
    with aggregator.context.database.read() as connection:
        assert federations.read(connection, NAME).roster_stale
    aggregator.pass_contributing()
    aggregator.pass_pause()
    with aggregator.context.database.read() as connection:
        second = federations.read_roster(connection, NAME)
        assert federations.read_roster(connection, NAME, 1) == first
        assert federations.read_roster(connection, NAME, 2) == second
    assert first is not None
    assert second is not None
    assert second.message.nonce != first.message.nonce
    assert len(second.message.clients) == 5

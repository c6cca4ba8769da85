"""A federation that asks for witnesses: a prior counts once enough members cosigned a log that holds it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from aggregator.service import witnessing
from client_agent import published_prior
from client_agent.membership import Membership
from fgpr.auditlog import checkpoint, cosignature
from fgpr.errors import CommitteeError, EncodingError, UnknownResource
from fgpr.federated.federation import Federation
from fgpr.rest import PriorView
from fgpr.ticket import Ticket
from support.aggregator import Aggregator, served, settings_of
from support.client import NAME
from support.party import Party, refusal


@pytest.fixture
def aggregator(tmp_path: Path, database_url: str) -> Iterator[Aggregator]:
    settings = settings_of().model_copy(update={"witnesses": 3})
    with served(tmp_path, settings, keeps_deadlines=False, url=database_url) as made:
        yield made


def play(parties: list[Party], openers: int = 4) -> None:
    for party in parties:
        party.contribute()
    for party in parties[:openers]:
        party.open()


def latest(party: Party) -> PriorView:
    return PriorView.decode(party.api.get("priors/latest"))


def test_a_prior_counts_with_the_openings_of_the_next_round(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    told = refusal(parties[0], UnknownResource, lambda: latest(parties[0]))["detail"]
    assert "no prior of engines counts as published yet: 3 members have to cosign a log that holds it" in told
    play(parties)
    # The first round's members cosigned a log that holds version 0, and version 1 came after that.
    view = latest(parties[0])
    assert (view.prior.message.version, aggregator.prior().version) == (0, 1)
    play(parties)
    view = latest(parties[0])
    assert (view.prior.message.version, aggregator.prior().version) == (1, 2)
    # The committee starts from the newest all the same: by its version anybody gets it.
    newest = PriorView.decode(parties[0].api.get("priors/2"))
    assert (newest.prior.message.version, newest.cosigned) == (2, None)
    assert view.cosigned is not None
    keys = {cosignature.name_of(NAME, party.name): party.client.public_key() for party in parties}
    log = checkpoint.name_of(parties[0].ticket.service_key)
    seen, names = cosignature.witnesses(view.cosigned.note, log, parties[0].ticket.service_key, keys)
    assert len(names) == 3
    assert seen.size > view.index
    assert view.cosigned.roster_version == 1


def test_too_few_openings_are_too_few_witnesses(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    play(parties, openers=2)
    with aggregator.context.database.read() as connection:
        assert witnessing.newest(aggregator.context, connection, NAME, 3) is None
        found = witnessing.newest(aggregator.context, connection, NAME, 2)
    assert found is not None
    refusal(parties[0], UnknownResource, lambda: latest(parties[0]))


def test_a_prior_that_waits_for_witnesses_may_not_be_kept(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    play(parties)

    def cache_of(version: int) -> str:
        parties[0].api.get(f"priors/{version}")
        return caches[-1]

    caches: list[str] = []
    handle = parties[0].transport.inner.handle_request

    def recorded(request):  # type: ignore[no-untyped-def]  # httpx's
        response = handle(request)
        caches.append(response.headers.get("Cache-Control", ""))
        return response

    parties[0].transport.inner.handle_request = recorded  # type: ignore[method-assign]  # for this test
    assert cache_of(0) == "private, max-age=31536000, immutable"
    assert cache_of(1) == "private, no-cache"


def test_a_reader_takes_what_the_aggregator_shows(aggregator: Aggregator, tmp_path: Path) -> None:
    parties = aggregator.enrol(4)
    reader = aggregator.party("reader", "reader")
    reader.enrol()
    aggregator.advance()
    play(parties)
    home = tmp_path / "home"
    home.mkdir()
    assert reader.ticket.witnesses == Ticket.from_text(reader.ticket.to_text()).witnesses == 3
    known = Membership.from_ticket(reader.ticket)
    assert known.witnesses == 3
    (home / "membership.json").write_bytes(known.encode())
    published = published_prior.fetch(home, reader.api)
    assert (published.record.version, published.fresh) == (0, True)


def test_more_witnesses_than_openings_are_refused_when_a_round_opens(tmp_path: Path) -> None:
    settings = settings_of().model_copy(update={"witnesses": 5})
    with served(tmp_path, settings, keeps_deadlines=False) as aggregator:
        aggregator.enrol(5)
        with pytest.raises(CommitteeError, match="asks for 5 witnesses, and 4 of 5 members are enough to publish"):
            aggregator.advance()


def test_settings() -> None:
    assert "witnesses" not in settings_of().to_json()
    with pytest.raises(EncodingError, match="witnesses"):
        Federation.from_json(settings_of().to_json() | {"witnesses": 100})

"""What has to hold once the fault is over and the round has been played to its end."""

from sqlalchemy import select

from aggregator.keys import KeyDirectory
from aggregator.service import checking
from aggregator.service.invariants.evidence import Handed
from aggregator.storage import records
from aggregator.storage.engine import Database
from aggregator.storage.tables import rounds
from fgpr import signatures
from kills.script import ENDS
from kills.site import Site
from support.client import NAME
from support.forged_database import as_kept


def judge(site: Site, chapter: str) -> list[str]:
    """Everything that is wrong: with how the rounds ended, with an invariant, or with a request that is sent again."""
    keys = KeyDirectory(site.settings.keys)
    service, roster = keys.service(), keys.roster(NAME)
    journals = [
        as_kept(party, service, roster, enrolled=name in site.enrolled, receipts=site.receipts.get(name, ()))
        for name, party in site.parties.items()
    ]
    secrets = {"the service key": service.private_bytes_raw(), "the roster key": roster.private_bytes_raw()}
    database = Database(site.settings.database)
    try:
        with database.read() as connection:
            query = select(rounds.c.stage).order_by(rounds.c.number)
            stages = tuple(connection.execute(query).scalars())[: len(ENDS[chapter])]
        wrong = [] if stages == ENDS[chapter] else [f"the rounds ended as {', '.join(stages)}"]
        found = checking.check(
            database,
            site.clock(),
            signatures.public_bytes(service),
            {NAME: signatures.public_bytes(roster)},
            Handed(journals=journals, secrets=secrets),
        )
        wrong += [f"invariant {one.number}: {one.what}" for one in found]
        before = _effects(database)
        for request in site.sent:
            site.persist(lambda request=request: site.ask("http", *request))  # type: ignore[misc]
        if _effects(database) != before:
            wrong.append("a request that was sent again had an effect")
    finally:
        database.close()
    return wrong


def _effects(database: Database) -> records.Rows:
    with database.read() as connection:
        rows, _ = records.read(connection)
    # A request that was cut off before it had its effect may spend its nonce now.
    rows.pop("nonces")
    return rows

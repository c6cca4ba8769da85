"""A database after rounds with every ending, into which a test plants one fault as an administrator could."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import text

from aggregator.service import checking, enrolment
from aggregator.service.invariants.evidence import Handed, Journal
from aggregator.storage.tables import log_head, log_leaves, log_nodes
from fgpr import merkle
from fgpr.auditlog import checkpoint
from fgpr.auditlog.checkpoint import Checkpoint
from fgpr.journal import Answer, SeenPlan
from fgpr.message import Signed
from fgpr.secagg.messages import Cohort, Plan
from fgpr.secagg.roster import Roster
from support.aggregator import Aggregator, served
from support.client import NAME, CohortOpened, ContributionWritten, PlanChecked
from support.party import Party
from support.replicas import Snapshot

PUBLISHED, VOID, CARRIED, AGAIN, EMPTY, OPENING = range(1, 7)
"""Rounds by how they ended; 5 had no contributions, and 6 waits for openings since client-03 was revoked in it."""


class Forged:
    """The database, and means to plant.

    Attributes:
        aggregator: as it ran.
        parties: client-00 to client-03; client-03 is revoked.
    """

    def __init__(self, aggregator: Aggregator, parties: list[Party]) -> None:
        self.aggregator, self.parties = aggregator, parties
        self.database = aggregator.context.database

    def numbers(self, *journals: Journal, **handed: Any) -> set[int]:
        """Numbers of the invariants that do not hold."""
        anchors = self.aggregator.anchors()
        found = checking.check(
            self.database,
            self.aggregator.clock(),
            anchors.service_key,
            anchors.roster_keys,
            Handed(journals=journals, **handed),
        )
        return {violation.number for violation in found}

    def execute(self, sql: str, **values: Any) -> None:
        """Change rows."""
        with self.database.write() as connection:
            connection.execute(text(sql), values)

    def value(self, sql: str, **values: Any) -> Any:
        """One stored value."""
        with self.database.read() as connection:
            return connection.execute(text(sql), values).scalar_one()

    def relog(self, change: Callable[[list[bytes]], list[bytes]]) -> None:
        """Write the audit log anew with other leaves, its head signed as if it had always been so."""
        leaves = change(self.aggregator.raw_leaves())
        frontier, context = merkle.Frontier.empty(), self.aggregator.context
        name = checkpoint.name_of(context.service_public())
        with self.database.write() as connection:
            for table in (log_leaves, log_nodes):
                connection.execute(table.delete())
            for index, leaf in enumerate(leaves):
                connection.execute(log_leaves.insert().values(index=index, leaf=leaf))
                frontier, nodes = frontier.append(merkle.leaf_hash(leaf))
                for level, place, node in nodes:
                    connection.execute(log_nodes.insert().values(level=level, index=place, hash=node))
            note = checkpoint.sign(Checkpoint(name, frontier.size, frontier.root()), name, context.keys.service())
            hashes = b"".join(frontier.hashes)
            connection.execute(log_head.update().values(size=frontier.size, frontier=hashes, note=note))

    def journal(self, party: Party, **changes: Any) -> Journal:
        """What a party wrote, as its home would show it."""
        return journal_of(self.aggregator, party, **changes)


def journal_of(aggregator: Aggregator, party: Party, **changes: Any) -> Journal:
    """The journal of a party that keeps it in memory."""
    keys = aggregator.context.keys
    return as_kept(party, keys.service(), keys.roster(NAME), **changes)


def as_kept(party: Party, service: Ed25519PrivateKey, roster_key: Ed25519PrivateKey, **changes: Any) -> Journal:
    """The journal of a party, whose documents are signed again, to the same bytes."""
    written = party.client.journal
    plans: dict[int, SeenPlan] = {}
    openings: dict[int, Answer] = {}
    for record in written:
        if isinstance(record, PlanChecked):
            plan = Signed[Plan].make(service, record.plan)
            plans[record.plan.round] = SeenPlan(plan=plan, roster=Signed[Roster].make(roster_key, record.roster))
        if isinstance(record, CohortOpened):
            cohort = Signed[Cohort].make(service, record.cohort)
            openings[record.round] = Answer(cohort=cohort, body=record.body)
    values: dict[str, Any] = {
        "name": party.name,
        "federation": NAME,
        "client": party.name,
        "enrolled": True,
        "checkpoint": party.client.history().checkpoint,
        "plans": plans,
        "contributions": {one.round: one.body for one in written if isinstance(one, ContributionWritten)},
        "openings": openings,
    }
    return Journal(**(values | changes))


@contextmanager
def forged(folder: Path, url: str) -> Iterator[tuple[Forged, Snapshot]]:
    """The database after a whole run, and how to put it back."""
    with served(folder, keeps_deadlines=False, url=url) as aggregator:
        made = Forged(aggregator, aggregator.enrol(5))
        aggregator.party("reader", "reader").enrol()
        _play(made)
        yield made, Snapshot(made.database)


def _play(made: Forged) -> None:
    aggregator, parties = made.aggregator, made.parties
    aggregator.advance()
    _all("contribute", parties)
    _all("open", parties)
    # Void: one member opened the cohort before the others proved that too few did.
    _all("contribute", parties)
    parties[0].open()
    aggregator.pass_contributing()
    aggregator.pass_opening()
    for party in parties[1:]:
        party.open_nothing(VOID)
    _all("contribute", parties)
    aggregator.pass_contributing()
    aggregator.pass_opening()
    aggregator.pass_opening()
    _all("contribute", parties)
    _all("open", parties)
    aggregator.pass_contributing()
    aggregator.advance()
    parties[3].contribute()
    enrolment.revoke(aggregator.context, NAME, "client-03")
    _all("contribute", [*parties[:3], parties[4]])
    assert [aggregator.round(number).stage.value for number in range(1, 7)] == [
        "published",
        "void",
        "carried",
        "published",
        "aborted",
        "opening",
    ]


def _all(act: str, who: list[Party]) -> None:
    for party in who:
        getattr(party, act)()

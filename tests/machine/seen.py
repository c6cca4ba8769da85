"""What the database holds after a step, read past the service."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select

from aggregator.storage import tables
from aggregator.storage.engine import Database
from fgpr.secagg.stages import RUNNING, Stage


@dataclass(frozen=True)
class SeenRound:
    """One round as stored."""

    stage: Stage
    plan: bytes
    cohort: bytes | None
    empty: bytes | None
    contribute_until: datetime
    open_until: datetime
    ended_at: datetime | None


@dataclass(frozen=True)
class Seen:
    """Everything that the invariants of each step need.

    Attributes:
        clients: key id, and whether revoked, by id.
        contributions: digest of the body by round and client.
        masked: the contributions that are not erased.
        openings: document by round and member.
        leaves: of the log, from the first one on.
        note: the signed checkpoint.
        nonces: spent and kept, by key id.
    """

    state: str = "open"
    clients: dict[str, tuple[str, bool]] = field(default_factory=dict)
    rounds: dict[int, SeenRound] = field(default_factory=dict)
    contributions: dict[tuple[int, str], bytes] = field(default_factory=dict)
    masked: frozenset[tuple[int, str]] = frozenset()
    openings: dict[tuple[int, str], bytes] = field(default_factory=dict)
    priors: dict[int, bytes] = field(default_factory=dict)
    leaves: tuple[bytes, ...] = ()
    note: str = ""
    nonces: frozenset[tuple[str, str]] = frozenset()

    @property
    def last(self) -> int:
        """The newest round; 0 before the first."""
        return max(self.rounds, default=0)

    def runs(self) -> bool:
        """Whether a round takes contributions or openings."""
        return bool(self.rounds) and self.rounds[self.last].stage in RUNNING

    def is_in(self, stage: Stage) -> bool:
        """Whether the newest round is in this stage."""
        return bool(self.rounds) and self.rounds[self.last].stage is stage


def read(database: Database, before: Seen) -> Seen:
    """Read it; leaves that were read before are not read again."""
    with database.read() as connection:
        (head,) = connection.execute(select(tables.log_head.c.size, tables.log_head.c.note))
        known = before.leaves if head.size >= len(before.leaves) else ()
        (state,) = connection.execute(select(tables.federations.c.state)).scalars()
        contributions = _contributions(connection)
        return Seen(
            state=state,
            clients=_clients(connection),
            rounds=_rounds(connection),
            contributions={(row.round, row.client): row.body_digest for row in contributions},
            masked=frozenset((row.round, row.client) for row in contributions if not row.erased),
            openings={(row.round, row.client): row.document for row in connection.execute(select(tables.openings))},
            priors={row.version: row.document for row in connection.execute(select(tables.priors))},
            leaves=known + _leaves(connection, len(known)),
            note=head.note,
            nonces=frozenset(
                (row.key_id, row.nonce)
                for row in connection.execute(select(tables.nonces.c.key_id, tables.nonces.c.nonce))
            ),
        )


def dump(database: Database) -> dict[str, list[str]]:
    """Every row of every table but the nonces."""
    with database.read() as connection:
        return {
            table.name: sorted(repr(tuple(row)) for row in connection.execute(select(table)))
            for table in tables.metadata.sorted_tables
            if table is not tables.nonces
        }


def _clients(connection: Connection) -> dict[str, tuple[str, bool]]:
    table = tables.clients
    rows = connection.execute(select(table.c.client, table.c.key_id, table.c.revoked_at))
    return {row.client: (row.key_id, row.revoked_at is not None) for row in rows}


def _rounds(connection: Connection) -> dict[int, SeenRound]:
    return {
        row.number: SeenRound(
            Stage(row.stage),
            row.plan,
            row.cohort,
            row.empty_cohort,
            row.contribute_until,
            row.open_until,
            row.ended_at,
        )
        for row in connection.execute(select(tables.rounds))
    }


def _contributions(connection: Connection) -> Sequence[Row[Any]]:
    table = tables.contributions
    erased = table.c.masked.is_(None).label("erased")
    return connection.execute(select(table.c.round, table.c.client, table.c.body_digest, erased)).all()


def _leaves(connection: Connection, start: int) -> tuple[bytes, ...]:
    table = tables.log_leaves
    query = select(table.c.leaf).where(table.c.index >= start).order_by(table.c.index)
    return tuple(connection.execute(query).scalars())

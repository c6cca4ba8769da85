"""The stored documents byte for byte, for holding them against the audit log."""

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from aggregator.storage.tables import (
    clients,
    complaints,
    federations,
    log_head,
    log_leaves,
    log_nodes,
    priors,
    rosters,
    rounds,
)


@dataclass(frozen=True)
class Documents:
    """What a federation's tables hold.

    Attributes:
        settings: its settings.
        roster_key: public half of its roster key, 32 bytes.
        state: whether rounds open.
        clients: identity key, role, whether it is revoked, and what weight it declared, by party.
        rosters: documents by version.
        priors: documents and the indices of their leaves, by version.
        rounds: plan, cohort and empty cohort, by number.
        complaints: by round and member.
    """

    settings: bytes
    roster_key: bytes
    state: str
    clients: dict[str, tuple[bytes, str, bool, bytes | None]]
    rosters: dict[int, bytes]
    priors: dict[int, tuple[bytes, int]]
    rounds: dict[int, tuple[bytes, bytes | None, bytes | None]]
    complaints: dict[tuple[int, str], bytes]


def read(connection: Connection, federation: str) -> Documents:
    """Every document of a federation."""
    row = connection.execute(
        select(federations.c.settings, federations.c.roster_key, federations.c.state).where(
            federations.c.name == federation
        )
    ).one()
    client_rows = connection.execute(
        select(
            clients.c.client, clients.c.identity_key, clients.c.role, clients.c.revoked_at, clients.c.declared
        ).where(clients.c.federation == federation)
    )
    roster_rows = connection.execute(
        select(rosters.c.version, rosters.c.document).where(rosters.c.federation == federation)
    )
    prior_rows = connection.execute(
        select(priors.c.version, priors.c.document, priors.c.leaf).where(priors.c.federation == federation)
    )
    round_rows = connection.execute(
        select(rounds.c.number, rounds.c.plan, rounds.c.cohort, rounds.c.empty_cohort).where(
            rounds.c.federation == federation
        )
    )
    complaint_rows = connection.execute(
        select(complaints.c.round, complaints.c.client, complaints.c.document).where(
            complaints.c.federation == federation
        )
    )
    return Documents(
        settings=row.settings,
        roster_key=row.roster_key,
        state=row.state,
        clients={
            line.client: (line.identity_key, line.role, line.revoked_at is not None, line.declared)
            for line in client_rows
        },
        rosters={row.version: row.document for row in roster_rows},
        priors={row.version: (row.document, row.leaf) for row in prior_rows},
        rounds={row.number: (row.plan, row.cohort, row.empty_cohort) for row in round_rows},
        complaints={(row.round, row.client): row.document for row in complaint_rows},
    )


def count_log(connection: Connection) -> tuple[int, int, int]:
    """How many leaves, nodes and heads of the audit log are stored, wherever they belong."""
    return (
        connection.execute(select(func.count()).select_from(log_leaves)).scalar_one(),
        connection.execute(select(func.count()).select_from(log_nodes)).scalar_one(),
        connection.execute(select(func.count()).select_from(log_head)).scalar_one(),
    )

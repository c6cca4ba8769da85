"""The stored documents byte for byte, for holding them against the audit log."""

from dataclasses import dataclass

from sqlalchemy import Connection, select

from aggregator.storage.tables import federations, priors, rosters, rounds


@dataclass(frozen=True)
class Documents:
    """What a federation's tables hold.

    Attributes:
        settings: its settings.
        rosters: documents by version.
        priors: documents and the indices of their leaves, by version.
        rounds: plan, cohort and empty cohort, by number.
    """

    settings: bytes
    rosters: dict[int, bytes]
    priors: dict[int, tuple[bytes, int]]
    rounds: dict[int, tuple[bytes, bytes | None, bytes | None]]


def read(connection: Connection, federation: str) -> Documents:
    """Every document of a federation."""
    settings = connection.execute(select(federations.c.settings).where(federations.c.name == federation))
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
    return Documents(
        settings=settings.scalar_one(),
        rosters={row.version: row.document for row in roster_rows},
        priors={row.version: (row.document, row.leaf) for row in prior_rows},
        rounds={row.number: (row.plan, row.cohort, row.empty_cohort) for row in round_rows},
    )

"""Rows of contributions: one a client and round. Their secret parts are NULL once the round has ended."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy import Connection, bindparam, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from aggregator.storage.tables import contributions
from fgpr.errors import Unavailable
from fgpr.message import Signed
from fgpr.secagg.messages import Header


@dataclass(frozen=True)
class ContributionRow:
    """A contribution as stored; the secret parts are None once the round has ended."""

    client: str
    body_digest: bytes
    header: Signed[Header]
    masked: bytes | None = field(repr=False)
    boxes: bytes | None = field(repr=False)


def add(connection: Connection, federation: str, number: int, row: ContributionRow) -> None:
    """Write a contribution; one a client and round, by the primary key.

    Raises:
        Unavailable: another request is storing one.
    """
    values = {
        "federation": federation,
        "round": number,
        "client": row.client,
        "body_digest": row.body_digest,
        "header": row.header.encode(),
        "masked": row.masked,
        "boxes": row.boxes,
    }
    try:
        connection.execute(_ADD, values)
    except IntegrityError as error:
        raise Unavailable(f"{row.client}'s contribution is being stored by another request") from error


def read_body_digests(connection: Connection, federation: str, number: int, named: Iterable[str]) -> dict[str, bytes]:
    """SHA-256 of the bodies of these clients' contributions to a round, of those that are in; in one query."""
    rows = connection.execute(_BODY_DIGESTS, {"name": federation, "number": number, "named": list(named)})
    return {row.client: row.body_digest for row in rows}


def read_all(connection: Connection, federation: str, number: int) -> list[ContributionRow]:
    """Every contribution to a round, in order of client id."""
    return [
        ContributionRow(row.client, row.body_digest, Signed[Header].decode(row.header), row.masked, row.boxes)
        for row in connection.execute(_ALL, {"name": federation, "number": number})
    ]


def read_headers(connection: Connection, federation: str, number: int) -> dict[str, Header]:
    """The headers of every contribution to a round, by client: without what makes them large."""
    rows = connection.execute(_HEADERS, {"name": federation, "number": number})
    return {row.client: Signed[Header].decode(row.header).message for row in rows}


def read_masked(connection: Connection, federation: str, number: int) -> dict[str, bytes]:
    """The masked vectors of a round, by client; none once it has ended."""
    rows = connection.execute(_MASKED, {"name": federation, "number": number})
    return {row.client: row.masked for row in rows}


def contributors(connection: Connection, federation: str, number: int) -> set[str]:
    """Ids of the clients that contributed to a round."""
    return set(connection.execute(_CONTRIBUTORS, {"name": federation, "number": number}).scalars())


def count(connection: Connection, federation: str, number: int) -> int:
    """How many contributions to a round are in."""
    return connection.execute(_COUNT, {"name": federation, "number": number}).scalar_one()


def erase(connection: Connection, federation: str, number: int) -> None:
    """Erase masked vectors and boxes of a round; their hashes stay in the headers."""
    connection.execute(
        update(contributions)
        .where(contributions.c.federation == federation, contributions.c.round == number)
        .values(masked=None, boxes=None)
    )


# Written down once, as in storage.rounds.
_ADD = insert(contributions)
_CONTRIBUTORS = select(contributions.c.client).where(
    contributions.c.federation == bindparam("name"), contributions.c.round == bindparam("number")
)
_ALL = _CONTRIBUTORS.add_columns(
    contributions.c.body_digest, contributions.c.header, contributions.c.masked, contributions.c.boxes
).order_by(contributions.c.client)
_HEADERS = _CONTRIBUTORS.add_columns(contributions.c.header)
_MASKED = _CONTRIBUTORS.add_columns(contributions.c.masked).where(contributions.c.masked.is_not(None))
_COUNT = _CONTRIBUTORS.with_only_columns(func.count())
_BODY_DIGESTS = _CONTRIBUTORS.add_columns(contributions.c.body_digest).where(
    contributions.c.client.in_(bindparam("named", expanding=True))
)

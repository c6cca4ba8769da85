"""Rows of complaints."""

from sqlalchemy import Connection, bindparam, insert, select
from sqlalchemy.exc import IntegrityError

from aggregator.storage.tables import complaints
from fgpr.errors import Unavailable
from fgpr.message import Signed
from fgpr.secagg.messages import Complaint


def add(connection: Connection, complaint: Signed[Complaint]) -> None:
    """Write a complaint; one a member and round, by the primary key."""
    message = complaint.message
    values = {
        "federation": message.federation,
        "round": message.round,
        "client": message.client,
        "document": complaint.encode(),
    }
    try:
        connection.execute(insert(complaints).values(values))
    except IntegrityError as error:
        raise Unavailable(f"{message.client}'s complaint is being stored by another request") from error


def read(connection: Connection, federation: str, number: int) -> dict[str, Signed[Complaint]]:
    """The complaints of a round, by member."""
    rows = connection.execute(_READ, {"name": federation, "number": number})
    return {row.client: Signed[Complaint].decode(row.document) for row in rows}


def members(connection: Connection, federation: str, number: int) -> set[str]:
    """Ids of the members that complained in a round."""
    return set(connection.execute(_MEMBERS, {"name": federation, "number": number}).scalars())


# Written down once, as in storage.rounds.
_READ = (
    select(complaints.c.client, complaints.c.document)
    .where(complaints.c.federation == bindparam("name"), complaints.c.round == bindparam("number"))
    .order_by(complaints.c.client)
)
_MEMBERS = select(complaints.c.client).where(
    complaints.c.federation == bindparam("name"), complaints.c.round == bindparam("number")
)

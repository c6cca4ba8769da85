"""Whose agent this is: what a ticket told, kept in the agent's home."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field

from client_agent import agent_toml, authorities, durable_file, epoch, identity
from client_agent.agent_toml import AgentToml
from fgpr.errors import EncodingError, LocalProtocolError
from fgpr.message import Count, Message, Name, PublicKey
from fgpr.secagg.checked_plan import Anchors
from fgpr.ticket import Role, Ticket

if TYPE_CHECKING:
    from client_agent.api import Api

FILE_NAME = "membership.json"


class Membership(Message):
    """One party in one federation.

    Attributes:
        origin: the aggregator's address.
        federation: the federation.
        client: this party's id.
        role: "client" or "reader".
        service_key: signs plans, cohorts, priors and checkpoints, 32 bytes.
        roster_key: signs rosters, 32 bytes.
        witnesses: members that have to cosign a log which holds a prior before it counts as published.
    """

    origin: str
    federation: Name
    client: Name
    role: Role
    service_key: PublicKey
    roster_key: PublicKey
    witnesses: Annotated[Count, Field(exclude_if=lambda count: count == 0)] = 0

    @classmethod
    def from_ticket(cls, ticket: Ticket) -> Self:
        """All of a ticket but its secret and its time."""
        return cls(
            origin=ticket.origin,
            federation=ticket.federation,
            client=ticket.client,
            role=ticket.role,
            service_key=ticket.service_key,
            roster_key=ticket.roster_key,
            witnesses=ticket.witnesses,
        )

    def anchors(self) -> Anchors:
        """What plans are checked against."""
        return Anchors(self.federation, self.service_key, self.roster_key)


def load(home: Path) -> Membership:
    """The membership in `home`.

    Raises:
        LocalProtocolError: there is none.
        EncodingError: the file is damaged.
    """
    path = home / FILE_NAME
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise LocalProtocolError(f"{home} is enrolled nowhere: enrol with a ticket first, or name the home") from None
    try:
        return Membership.decode(raw)
    except EncodingError as error:
        raise EncodingError(f"{path} is damaged ({error}): restore it from a backup") from error


def save(home: Path, membership: Membership) -> None:
    """Write the membership, once.

    Raises:
        LocalProtocolError: there is one already.
    """
    durable_file.write_once(home / FILE_NAME, membership.encode())


def connect(
    home: Path, attempts: int = 6, tell: epoch.Tell = lambda _: None, settings: AgentToml | None = None
) -> "Api":
    """A connection to the aggregator with the identity in `home`; raises as `load` and `identity.load` do.

    Args:
        home: of an enrolled party.
        attempts: how often a request is tried at most.
        tell: tells the owner that the aggregator was restored from a backup.
        settings: of the owner; those of agent.toml in the home where None.
    """
    # Where a connection is made: what works offline starts without HTTP.
    from client_agent.api import Api

    known = load(home)
    settings = agent_toml.load(home) if settings is None else settings
    return Api(
        known.origin,
        known.federation,
        identity.load(home),
        attempts=attempts,
        service_key=known.service_key,
        epoch=epoch.load(home),
        on_epoch=epoch.learner(home, tell),
        tls=authorities.load(home),
        proxy=settings.connection.proxy,
    )

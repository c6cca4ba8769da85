"""The bodies of the operator's routes, /v1/operator: read and written through these classes on both sides."""

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from fgpr.message import Count, Message, Name, PublicKey, Timestamp
from fgpr.rest import State
from fgpr.ticket import Role

Reason = Annotated[str, Field(min_length=1, max_length=500)]


class FederationLine(Message):
    """One federation as an operator sees it.

    Attributes:
        name: its name.
        state: whether rounds open.
        clients: parties that enrolled and are not revoked, readers included.
        round: the newest round's number; 0 before the first.
        stage: that round's stage; None before the first.
        prior_version: version of the newest prior.
    """

    name: Name
    state: State
    clients: Count
    round: Count
    stage: str | None
    prior_version: Count


class FederationList(Message):
    """Every federation, in order of name."""

    federations: tuple[FederationLine, ...]


class FederationRequest(Message):
    """A federation to create.

    Attributes:
        settings: what its TOML file holds, as JSON.
        roster_key: public half of a roster key that is held elsewhere; None makes one beside the service key.
    """

    settings: dict[str, JsonValue]
    roster_key: PublicKey | None = None


class TicketRequest(Message):
    """A ticket to issue.

    Attributes:
        client: id of the party.
        role: what it will be.
        days: until the ticket expires.
    """

    client: Name
    role: Role = "client"
    days: Annotated[int, Field(ge=1, le=365)] = 7


class IssuedTicket(Message):
    """A ticket, in plain: this answer is its only copy."""

    ticket: Annotated[str, Field(repr=False)]


class ClientLine(Message):
    """One party of a federation."""

    client: Name
    role: Role
    key_id: str
    enrolled_at: Timestamp
    revoked_at: Timestamp | None


class ClientList(Message):
    """Every party of a federation, in order of id, revoked ones included."""

    clients: tuple[ClientLine, ...]


class StateRequest(Message):
    """A change of a federation's state, which is logged with its reason.

    Attributes:
        state: "paused", "resumed", "closed" (for good), or "released": a carried theta's next round may have a new
            roster, for a federation whose old one has gone. docs/roles.md says what that costs.
        reason: for the log; everybody may read it.
    """

    state: Literal["paused", "resumed", "closed", "released"]
    reason: Reason


class OpenedRound(Message):
    """The round that was opened by hand."""

    round: Count


class RoundDetails(Message):
    """One round as JSON: its summary, who contributed, opened and complained, its signed plan and cohort."""

    details: dict[str, Any]

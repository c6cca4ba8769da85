"""The leaves of the audit log: canonical JSON, one kind for each thing that happens (docs/audit-trail.md, Leaves).

A leaf holds the signed document in full where there is one, and hashes where the thing itself is kept from the log
(tickets, opening keys, contributions, openings). Every leaf names its kind and its federation; only a new epoch is
one of the whole aggregator.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from fgpr import canonical
from fgpr.auditlog.cosignature import COSIGNATURE_BYTES
from fgpr.errors import EncodingError
from fgpr.federated.federation import Federation
from fgpr.federated.publication import PriorRecord
from fgpr.message import Bytes, Count, Digest, Message, Name, PublicKey, Signed, Timestamp, describe
from fgpr.rotation import SignedKeyChange
from fgpr.secagg.declared_weight import DeclaredWeight
from fgpr.secagg.messages import Cohort, Complaint, Plan
from fgpr.secagg.roster import Roster
from fgpr.ticket import Role


class FederationCreated(Message):
    """A federation was created; nothing of its settings changes afterwards.

    Attributes:
        settings: all of them.
        roster_key: the key that signs its rosters, 32 bytes.
    """

    kind: Literal["federation"] = "federation"
    federation: Name
    settings: Federation
    roster_key: PublicKey


class TicketIssued(Message):
    """A ticket was made for a party.

    Attributes:
        ticket: the hash of its secret (`fgpr.ticket.secret_hash`).
        expires: until when it can be taken up.
        by: the operator who asked for it from elsewhere; None where it was made on the aggregator's own machine.
    """

    kind: Literal["ticket"] = "ticket"
    federation: Name
    client: Name
    role: Role
    ticket: Digest
    expires: Timestamp
    by: Name | None


class Enrolled(Message):
    """A party took up its ticket.

    Attributes:
        ticket: the hash of the ticket's secret.
        declared: the weight that it declared, where the federation draws by weight.
    """

    kind: Literal["enrolled"] = "enrolled"
    federation: Name
    client: Name
    role: Role
    ticket: Digest
    identity_key: PublicKey
    declared: Signed[DeclaredWeight] | None


class OpeningKeyRegistered(Message):
    """A client has another opening key, which its next seat may name.

    Attributes:
        serial: the key's.
        key: digest of the key's record. The signed record stands in the plan that names it.
    """

    kind: Literal["opening-key"] = "opening-key"
    federation: Name
    client: Name
    serial: Annotated[Count, Field(ge=1)]
    key: Digest


class Revoked(Message):
    """A client left or was revoked; no cohort whose checkpoint comes after this leaf may count it."""

    kind: Literal["revoked"] = "revoked"
    federation: Name
    client: Name
    by: Literal["client", "operator"]


class KeyReplaced(Message):
    """A party has another identity key from here on; both keys signed that. No roster of before is changed by it.

    Attributes:
        declared: the weight that it declared before, under the new key.
    """

    kind: Literal["rotated"] = "rotated"
    federation: Name
    client: Name
    rotation: SignedKeyChange
    declared: Signed[DeclaredWeight] | None


class StateChanged(Message):
    """The operator paused, resumed or closed a federation, or released its carried theta from the old roster.

    Attributes:
        reason: the operator's own words.
    """

    kind: Literal["state"] = "state"
    federation: Name
    state: Literal["paused", "resumed", "closed", "released"]
    reason: str


class ComplaintFiled(Message):
    """A member complained of boxes that do not open for it, instead of opening a cohort."""

    kind: Literal["complaint"] = "complaint"
    federation: Name
    complaint: Signed[Complaint]


class Convicted(Message):
    """More members than may be corrupt complained of a client in one round: it did lie, and is revoked by this.

    The proof is in the log before it: the complaints of `round`, its plan and its roster.
    """

    kind: Literal["convicted"] = "convicted"
    federation: Name
    client: Name
    round: Count


class RosterSigned(Message):
    """A roster version came into force."""

    kind: Literal["roster"] = "roster"
    federation: Name
    roster: Signed[Roster]


class RoundPlanned(Message):
    """A round opened."""

    kind: Literal["plan"] = "plan"
    federation: Name
    plan: Signed[Plan]


class CohortClosed(Message):
    """A round fixed the contributions that it counts."""

    kind: Literal["cohort"] = "cohort"
    federation: Name
    cohort: Signed[Cohort]


class AnsweredOpening(Message):
    """One member's opening, by its digest.

    Attributes:
        cosignature: the member's, of the cohort's checkpoint; None where it opened the empty cohort.
    """

    client: Name
    opening: Digest
    cosignature: Annotated[Bytes, Field(min_length=COSIGNATURE_BYTES, max_length=COSIGNATURE_BYTES)] | None


class PriorPublished(Message):
    """A prior was published: the initial one, the average of a round, or a carried one.

    Attributes:
        openings: those used, by digest; none for a prior that was not averaged.
        spare: how many there were above the threshold. With d disputed, another sum than the true one
            takes spare + 1 - d wrong openings at least.
        disputed: members whose position in the sum was wrong.
    """

    kind: Literal["prior"] = "prior"
    federation: Name
    prior: Signed[PriorRecord]
    openings: tuple[AnsweredOpening, ...] = ()
    spare: Count = 0
    disputed: tuple[Name, ...] = ()


class RoundAborted(Message):
    """A round ended without a prior; `cohort` is the signed empty cohort that its members may prove void."""

    kind: Literal["aborted"] = "aborted"
    federation: Name
    round: Count
    reason: str
    cohort: Signed[Cohort]


class RoundVoid(Message):
    """Enough members proved an aborted round void; the openings of its empty cohort, by digest."""

    kind: Literal["void"] = "void"
    federation: Name
    round: Count
    openings: tuple[AnsweredOpening, ...]


class EpochBegun(Message):
    """A backup took the database's place: no request that was signed before counts any more.

    Attributes:
        federation: none: it is one of the whole aggregator.
        epoch: what the nonces of requests begin with from here on.
    """

    kind: Literal["epoch"] = "epoch"
    federation: None = None
    epoch: Annotated[str, Field(pattern=r"\A[A-Za-z0-9_-]{22}\z")]


Leaf = (
    FederationCreated
    | TicketIssued
    | Enrolled
    | OpeningKeyRegistered
    | Revoked
    | KeyReplaced
    | StateChanged
    | RosterSigned
    | RoundPlanned
    | CohortClosed
    | ComplaintFiled
    | Convicted
    | PriorPublished
    | RoundAborted
    | RoundVoid
    | EpochBegun
)
_LEAF: TypeAdapter[Leaf] = TypeAdapter(Annotated[Leaf, Field(discriminator="kind")])


def decode(raw: bytes) -> Leaf:
    """The leaf in `raw`.

    Raises:
        EncodingError: not a leaf, or not its canonical bytes.
    """
    try:
        leaf = _LEAF.validate_json(raw)
    except ValidationError as error:
        canonical.parse(raw)
        raise EncodingError(describe("leaf", error)) from None
    # Whatever two parsers could read differently has another spelling than this one; only then is it asked what it is.
    if leaf.encode() != raw:
        canonical.parse(raw)
        raise EncodingError(f"a {leaf.kind} leaf that is not in canonical form")
    return leaf


def revoked_by(raw: bytes, federation: str) -> str | None:
    """The client of `federation` that this leaf revokes or convicts, or None.

    Leaves of other kinds are read no further than their kind: a member reads many, and the plans among them are long.

    Raises:
        EncodingError: not JSON, or a leaf of these kinds that does not have its form.
    """
    fields = canonical.parse(raw)
    if not isinstance(fields, dict) or fields.get("kind") not in ("revoked", "convicted"):
        return None
    leaf = decode(raw)
    if isinstance(leaf, Revoked | Convicted) and leaf.federation == federation:
        return leaf.client
    return None

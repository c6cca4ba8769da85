"""The leaves of the audit log: canonical JSON, one kind for each thing that happens (docs/protocol.md, Leaves).

A leaf holds the signed document in full where there is one, and hashes where the thing itself is kept from the log
(contributions, openings). Every leaf names its federation and its kind.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from fgpr import canonical
from fgpr.errors import EncodingError
from fgpr.federated.publication import PriorRecord
from fgpr.message import Count, Digest, Message, Name, PublicKey, Signed, describe
from fgpr.rotation import SignedKeyChange
from fgpr.secagg.declared_weight import DeclaredWeight
from fgpr.secagg.messages import Cohort, Complaint, Plan
from fgpr.secagg.roster import Roster


class Enrolled(Message):
    """A party took up its ticket.

    Attributes:
        declared: the weight that it declared, where the federation draws by weight.
    """

    kind: Literal["enrolled"] = "enrolled"
    federation: Name
    client: Name
    role: Literal["client", "reader"]
    identity_key: PublicKey
    declared: Signed[DeclaredWeight] | None


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
    """One member's opening, by its digest."""

    client: Name
    opening: Digest


class PriorPublished(Message):
    """A prior was published: the initial one, the average of a round, or a carried one.

    Attributes:
        settings: SHA-256 of the federation's settings as they are stored; only with the initial prior.
        openings: those used, by digest; none for a prior that was not averaged.
        spare: how many there were above the threshold. With d disputed, another sum than the true one
            takes spare + 1 - d wrong openings at least.
        disputed: members whose position in the sum was wrong.
    """

    kind: Literal["prior"] = "prior"
    federation: Name
    prior: Signed[PriorRecord]
    settings: Digest | None = None
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


Leaf = (
    Enrolled
    | Revoked
    | KeyReplaced
    | StateChanged
    | ComplaintFiled
    | Convicted
    | RosterSigned
    | RoundPlanned
    | CohortClosed
    | PriorPublished
    | RoundAborted
    | RoundVoid
)
_LEAF: TypeAdapter[Leaf] = TypeAdapter(Annotated[Leaf, Field(discriminator="kind")])


def decode(raw: bytes) -> Leaf:
    """The leaf in `raw`.

    Raises:
        EncodingError: not a leaf, or not its canonical bytes.
    """
    canonical.parse(raw)
    try:
        leaf = _LEAF.validate_json(raw)
    except ValidationError as error:
        raise EncodingError(describe("leaf", error)) from None
    if leaf.encode() != raw:
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

"""The messages of a round (docs/protocol.md, One round).

Frozen and strict, each with one encoding and one decoding (`fgpr.message`). Field elements travel as base64 of 8-byte
little-endian words, because JSON numbers end at 2^53. Secret-bearing values show nothing of themselves in repr.
"""

from collections.abc import Collection
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, JsonValue, model_validator

from fgpr.auditlog.cosignature import COSIGNATURE_BYTES
from fgpr.errors import EncodingError
from fgpr.message import Bytes, Count, Digest, Message, Name, Signed, Timestamp
from fgpr.secagg.declared_weight import Draw, check_draw
from fgpr.secagg.groups import Combine, check_groups
from fgpr.secagg.privacy import PrivacyTerms
from fgpr.secagg.suites import SUITES, SuiteName
from fgpr.secagg.weighting import Weighting, check_unit

Round = Annotated[Count, Field(ge=1)]
Positive = Annotated[Count, Field(ge=1)]
Hidden = Annotated[Bytes, Field(repr=False)]

# Left out of the JSON where they say nothing: plans and rules of federations without them keep their bytes.
Groups = Annotated[Positive, Field(exclude_if=lambda groups: groups == 1)]
CombineRule = Annotated[Combine, Field(exclude_if=lambda combine: combine == "mean")]
Step = Annotated[float, Field(gt=0)]
LargestStep = Annotated[Step | None, Field(exclude_if=lambda step: step is None)]


class OpeningKey(Message):
    """The public half of an HPKE key, signed by its holder's identity key; serials rise."""

    label: ClassVar[str] = "fgpr-v1/opening-key"

    federation: Name
    client: Name
    serial: Positive
    suite: SuiteName
    key: Bytes

    @model_validator(mode="after")
    def _of_its_suite(self) -> Self:
        wanted = SUITES[self.suite].public_bytes
        if len(self.key) != wanted:
            raise ValueError(f"key: {len(self.key)} bytes, the suite {self.suite} has keys of {wanted}")
        return self


class Seat(Message):
    """A seat of the committee; without a usable key it stays empty and still counts."""

    client: Name
    key: Signed[OpeningKey] | None


class LogPosition(Message):
    """A checkpoint of the audit log as (size, root)."""

    size: Count
    root: Digest


class CohortMember(Message):
    """One contribution that is counted."""

    client: Name
    header: Digest


class Cohort(Message):
    """S: the contributions of a round that are counted, in order of client id; empty after an abort."""

    label: ClassVar[str] = "fgpr-v1/cohort"

    federation: Name
    round: Round
    plan: Digest
    checkpoint: LogPosition
    members: tuple[CohortMember, ...]

    def clients(self) -> frozenset[str]:
        """The ids of the clients that are counted."""
        return frozenset(member.client for member in self.members)


class Header(Message):
    """What a contributor signs: its masked vector and its boxes, for one plan."""

    label: ClassVar[str] = "fgpr-v1/contribution"

    federation: Name
    round: Round
    plan: Digest
    client: Name
    masked: Digest
    boxes: Digest


class Opening(Message):
    """A member's sum of shares over a cohort, and its next opening key.

    Attributes:
        sum: a vector of L + 1 words for each group of the plan, in order; zeros for one that the cohort leaves out.
        cosignature: the member's, of the cohort's checkpoint (`fgpr.auditlog.cosignature`): it followed the log up to
            there. None with the empty cohort, for which it reads none.
    """

    label: ClassVar[str] = "fgpr-v1/opening"

    federation: Name
    round: Round
    cohort: Digest
    client: Name
    sum: Bytes
    next_key: Signed[OpeningKey]
    cosignature: Annotated[Bytes, Field(min_length=COSIGNATURE_BYTES, max_length=COSIGNATURE_BYTES)] | None


class AccusedBox(Message):
    """A box that did not open for the member to whose seat it was sealed.

    Attributes:
        header: of the accused client's contribution, signed by it.
        box: RFC 6962 leaf hash of the box.
        path: from there to the header's Merkle root, at the member's seat.
    """

    header: Signed[Header]
    box: Digest
    path: tuple[Digest, ...]


class Complaint(Message):
    """What a member sends instead of an opening where boxes of the counted contributions do not open for it.

    Attributes:
        plan: digest of the plan.
        cohort: digest of the cohort that it was asked to open.
        client: the member that complains.
        seat: its seat, 1..c.
        boxes: all that did not open, in order of client id.
    """

    label: ClassVar[str] = "fgpr-v1/complaint"

    federation: Name
    round: Round
    plan: Digest
    cohort: Digest
    client: Name
    seat: Positive
    boxes: Annotated[tuple[AccusedBox, ...], Field(min_length=1)]

    def accused(self) -> tuple[str, ...]:
        """The clients whose boxes did not open, in order."""
        return tuple(box.header.message.client for box in self.boxes)


class VoidProof(Message):
    """Openings of the empty cohort of an aborted round: no other cohort of its plan was or will be opened."""

    cohort: Signed[Cohort]
    openings: tuple[Signed[Opening], ...]


class Plan(Message):
    """Everything that the clients of one round agree on; signed by the service key.

    `dealt` holds the group of each invited client, 1..`groups`, in their order, and nothing where there is one group.
    `combine` and `largest_step` are for whoever publishes and verifies (`fgpr.secagg.groups`).
    """

    label: ClassVar[str] = "fgpr-v1/plan"

    federation: Name
    round: Round
    prior_version: Count
    theta_version: Count
    prior_digest: Digest
    update: Literal["theta"]
    training: dict[str, JsonValue]
    codec: dict[str, JsonValue]
    weighting: Weighting
    weight_unit: Positive | None
    min_cohort: Positive
    invited: tuple[Name, ...]
    invited_cap: Positive | None
    draw: Draw
    declared_cap: Annotated[Positive | None, Field(exclude_if=lambda cap: cap is None)] = None
    groups: Groups = 1
    dealt: Annotated[tuple[Positive, ...], Field(exclude_if=lambda dealt: not dealt)] = ()
    combine: CombineRule = "mean"
    largest_step: LargestStep = None
    roster_version: Positive
    roster_digest: Digest
    seats: tuple[Seat, ...]
    committee_cap: Positive
    threshold: Positive
    spare: Count
    gamma: Annotated[float, Field(ge=0, lt=1)]
    delta: Annotated[float, Field(ge=0, lt=1)]
    contribute_until: Timestamp
    open_until: Timestamp
    differential_privacy: PrivacyTerms | None = None
    suite: SuiteName
    checkpoint: LogPosition
    void: tuple[VoidProof, ...]

    @model_validator(mode="after")
    def _rules_belong_together(self) -> Self:
        try:
            check_unit(self.weighting, self.weight_unit)
            check_draw(self.draw, self.weighting, self.invited_cap)
        except EncodingError as error:
            raise ValueError(str(error)) from error
        if (self.declared_cap is not None) != (self.draw == "weights"):
            raise ValueError("declared_cap: belongs to a draw by weights, and to no other")
        return self

    @model_validator(mode="after")
    def _groups_belong(self) -> Self:
        try:
            check_groups(self.groups, self.combine, noised=self.differential_privacy is not None)
        except EncodingError as error:
            raise ValueError(str(error)) from error
        if (
            len(self.dealt) != (0 if self.groups == 1 else len(self.invited))
            or max(self.dealt, default=0) > self.groups
        ):
            raise ValueError(
                f"dealt: one group of {self.groups} for each invited client, none where there is one group"
            )
        return self

    @property
    def caps(self) -> tuple[int, int | None, int, Draw]:
        """What the draws and the deal take from the plan beside the roster's nonce."""
        return self.committee_cap, self.invited_cap, self.groups, self.draw

    def parts(self, clients: Collection[str]) -> tuple[tuple[str, ...], ...]:
        """These of the invited clients group by group, each in order of client id."""
        if self.groups == 1:
            return (tuple(sorted(clients)),)
        found: list[list[str]] = [[] for _ in range(self.groups)]
        for client, number in zip(self.invited, self.dealt, strict=True):
            if client in clients:
                found[number - 1].append(client)
        return tuple(map(tuple, found))

    def seat_of(self, client: str) -> int | None:
        """The seat of `client`, 1..c, or None where it has none."""
        for number, seat in enumerate(self.seats, start=1):
            if seat.client == client:
                return number
        return None


class Contribution(Message):
    """A client's one upload of a round.

    Attributes:
        header: signed by the client's identity key.
        masked: y = e + m, base64 of L + 1 words.
        boxes: one for each seat in order; zero bytes for an empty seat.
    """

    header: Signed[Header]
    masked: Hidden
    boxes: Annotated[tuple[Bytes, ...], Field(repr=False)]


class CohortEntry(Message):
    """What one member gets of one contribution: the signed header, its own box, and the box's Merkle path."""

    header: Signed[Header]
    box: Bytes
    path: tuple[Digest, ...]


class CohortView(Message):
    """A cohort as one member gets it; the entries stand in the cohort's order."""

    cohort: Signed[Cohort]
    entries: tuple[CohortEntry, ...]

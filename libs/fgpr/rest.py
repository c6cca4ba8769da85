"""The bodies of the REST interface that are not signed documents themselves.

Both services read and write them through these classes, so that they cannot disagree. Signed documents travel inside
as they are.
"""

from typing import Annotated, Literal

from pydantic import Field

from fgpr.federated.publication import PriorRecord
from fgpr.message import Bytes, Count, Digest, Message, Name, PublicKey, Signed, Timestamp
from fgpr.secagg.declared_weight import DeclaredWeight
from fgpr.secagg.messages import Cohort, OpeningKey, Plan
from fgpr.secagg.stages import Stage
from fgpr.ticket import SECRET_BYTES, Role

State = Literal["open", "paused", "closed"]
"""Of a federation: rounds open; none opens until it is resumed; none opens any more, and nobody enrols."""


class EnrolmentRequest(Message):
    """A party takes up its ticket; the HTTP request is signed with the identity key, which proves its possession.

    Attributes:
        secret: the ticket's secret.
        identity_key: the party's public key.
        opening_key: its first opening key; None for a reader.
        declared: the weight that it declares, where the ticket asks for one.
    """

    federation: Name
    client: Name
    secret: Annotated[Bytes, Field(min_length=SECRET_BYTES, max_length=SECRET_BYTES, repr=False)]
    identity_key: PublicKey
    opening_key: Signed[OpeningKey] | None
    declared: Signed[DeclaredWeight] | None


class EnrolmentReceipt(Message):
    """The answer to an enrolment: who one is now, and where the federation stands."""

    federation: Name
    client: Name
    role: Role
    key_id: str
    round: Count
    prior_version: Count


class Receipt(Message):
    """The answer to a contribution or an opening: its digest, and whether it is counted.

    Attributes:
        body: SHA-256 of the body that was stored.
        counted: False for an opening that came after it was needed; its next key was taken.
    """

    federation: Name
    round: Count
    client: Name
    body: Digest
    counted: bool


class AbortedRound(Message):
    """An aborted round that its members may still prove void."""

    plan: Signed[Plan]
    cohort: Signed[Cohort]


class RoundView(Message):
    """Where a federation stands.

    Attributes:
        round: the newest round's number; 0 before the first.
        stage: its stage; None before the first.
        state: a token that changes with anything here; sent back as `seen` it makes the server wait for a change.
        federation_state: whether rounds open: "open", "paused" or "closed". The log has it too, with the reason.
        plan: the newest round's plan.
        cohort: its cohort once it is closed.
        reason: why it was aborted.
        prior_version: version of the newest prior.
        aborted: aborted rounds that wait for openings of their empty cohorts.
        server_time: the aggregator's clock.
    """

    federation: Name
    round: Count
    stage: Stage | None
    state: str
    federation_state: State
    plan: Signed[Plan] | None
    cohort: Signed[Cohort] | None
    reason: str | None
    prior_version: Count
    aborted: tuple[AbortedRound, ...]
    server_time: Timestamp


class RoundSummary(Message):
    """One line of a list of rounds."""

    round: Count
    stage: Stage
    prior_version: Count
    invited: Count
    contributions: Count
    cohort: Count | None
    openings: Count
    threshold: Count
    contribute_until: Timestamp
    open_until: Timestamp
    ended_at: Timestamp | None
    reason: str | None


class RoundList(Message):
    """Rounds, newest first; `next` is the number to ask below for more."""

    rounds: tuple[RoundSummary, ...]
    next: Count | None


class CosignedCheckpoint(Message):
    """A checkpoint with cosignatures of members.

    Attributes:
        note: the log's signature first, then the members' (`fgpr.auditlog.cosignature`).
        roster_version: the roster in which the members' keys stand.
    """

    note: str
    roster_version: Count


class PriorView(Message):
    """A published prior and its leaf in the audit log.

    Attributes:
        prior: the signed record.
        leaf: the log's leaf that holds it.
        index: the leaf's place in the log.
        cosigned: a checkpoint of a log that holds the leaf, where the federation asks for witnesses; there is none as
            long as too few members cosigned one, and until then the prior does not count as published.
    """

    prior: Signed[PriorRecord]
    leaf: Bytes
    index: Count
    cosigned: Annotated[CosignedCheckpoint | None, Field(exclude_if=lambda note: note is None)] = None


class CheckpointView(Message):
    """The newest signed checkpoint of the audit log.

    Attributes:
        note: a C2SP note.
        service_key: the key that signed it, by which the log is named: whoever holds any checkpoint knows it from that.
    """

    note: str
    service_key: PublicKey


class LogEntries(Message):
    """Leaves `start` up to, not including, `end`, and the hashes of the log's frontier at `start`."""

    start: Count
    end: Count
    frontier: tuple[Digest, ...]
    leaves: tuple[Bytes, ...]


class LogProof(Message):
    """An inclusion or consistency proof; hashes in the order of RFC 6962."""

    hashes: tuple[Digest, ...]

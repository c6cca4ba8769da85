"""What a verified log tells: its signed documents, who is a member, and where each round stands.

`fgpr.auditlog.verification` fills it leaf by leaf, each leaf checked against what stands here of those before it.
"""

from dataclasses import dataclass, field
from typing import Any, TypeVar

from fgpr import merkle
from fgpr.auditlog.entries import FederationCreated, PriorPublished, RoundAborted, RoundVoid, TicketIssued
from fgpr.errors import VerificationError
from fgpr.federated.publication import PriorRecord
from fgpr.message import Signed
from fgpr.rest import State
from fgpr.secagg.declared_weight import DeclaredWeight
from fgpr.secagg.encoding import Codec
from fgpr.secagg.messages import Cohort, Complaint, LogPosition, Plan
from fgpr.secagg.roster import Roster
from fgpr.secagg.stages import Stage

K = TypeVar("K")
V = TypeVar("V")

Party = tuple[str, str]
"""Federation and client."""

RoundKey = tuple[str, int]
"""Federation and number of a round, or version of a roster or prior."""


@dataclass(frozen=True)
class Witnessed:
    """A checkpoint that members of one round cosigned.

    Attributes:
        position: the checkpoint.
        round: federation and number of the round with whose openings they did.
        clients: the members, in order.
        leaf: index of the leaf that holds the cosignatures.
    """

    position: LogPosition
    round: RoundKey
    clients: tuple[str, ...]
    leaf: int


@dataclass(frozen=True)
class Fixed:
    """What a federation's settings fix for every plan.

    Attributes:
        codec: of updates.
        training: local settings, as JSON.
    """

    codec: Codec
    training: dict[str, Any]


@dataclass
class Trail:
    """The documents of a verified log, by federation and version, round or client; places are indices of leaves.

    Attributes:
        service_key: the aggregator's public key, 32 bytes.
        tree: over the leaves; those of which the rest tells may be fewer.
        leaves: how many leaves were verified.
        federations: settings and roster keys, as they were created.
        fixed: what the settings fix for every plan.
        states: "open", "paused" or "closed", by federation.
        released: version of the last carried prior that the operator released from its roster, by federation.
        tickets: by the hash of their secret, those that were taken up included.
        taken: hashes of the tickets that were taken up.
        enrolled: present identity keys.
        held: every identity key that a party had, the present one last, each with the place of its leaf.
        holders: whose each identity key is or was.
        roles: "client" or "reader".
        declared: declared weights, of those that declared one: the same under each key, the present one last.
        opening_keys: digests of registered opening keys by serial.
        revoked: places of the leaves that revoke or convict.
        rosters: roster versions.
        plans: plans by round.
        cohorts: cohorts by round.
        aborted: leaves of aborted rounds.
        void: leaves of rounds that were proven void.
        stages: where each round stands.
        complaints: by federation, round and member.
        priors: priors by version, each with its place.
        published: leaves of priors by version.
        witnessed: checkpoints that members cosigned, oldest first.
        steps: place and kind of each leaf about a round, in order.
        epochs: those begun after restored backups.
    """

    service_key: bytes
    tree: merkle.Tree
    leaves: int = 0
    federations: dict[str, FederationCreated] = field(default_factory=dict)
    fixed: dict[str, Fixed] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)
    released: dict[str, int] = field(default_factory=dict)
    tickets: dict[bytes, TicketIssued] = field(default_factory=dict)
    taken: set[bytes] = field(default_factory=set)
    enrolled: dict[Party, bytes] = field(default_factory=dict)
    held: dict[Party, tuple[tuple[int, bytes], ...]] = field(default_factory=dict)
    holders: dict[bytes, Party] = field(default_factory=dict)
    roles: dict[Party, str] = field(default_factory=dict)
    declared: dict[Party, tuple[Signed[DeclaredWeight], ...]] = field(default_factory=dict)
    opening_keys: dict[Party, dict[int, bytes]] = field(default_factory=dict)
    revoked: dict[Party, int] = field(default_factory=dict)
    rosters: dict[RoundKey, Signed[Roster]] = field(default_factory=dict)
    plans: dict[RoundKey, Signed[Plan]] = field(default_factory=dict)
    cohorts: dict[RoundKey, Signed[Cohort]] = field(default_factory=dict)
    aborted: dict[RoundKey, RoundAborted] = field(default_factory=dict)
    void: dict[RoundKey, RoundVoid] = field(default_factory=dict)
    stages: dict[RoundKey, Stage] = field(default_factory=dict)
    complaints: dict[tuple[str, int, str], Signed[Complaint]] = field(default_factory=dict)
    priors: dict[RoundKey, tuple[Signed[PriorRecord], int]] = field(default_factory=dict)
    published: dict[RoundKey, PriorPublished] = field(default_factory=dict)
    witnessed: list[Witnessed] = field(default_factory=list)
    steps: dict[RoundKey, list[tuple[int, str]]] = field(default_factory=dict)
    epochs: list[str] = field(default_factory=list)

    def newest_round(self, federation: str) -> int:
        """Number of the last round that was planned; 0 before the first."""
        return self._newest_round.get(federation, 0)

    def newest_prior(self, federation: str) -> PriorRecord | None:
        """The last prior that was published."""
        version = self._newest_prior.get(federation)
        return None if version is None else self.priors[federation, version][0].message

    def newest_roster(self, federation: str) -> int:
        """The last roster version; 0 before the first."""
        return self._newest_roster.get(federation, 0)

    def add_plan(self, plan: Signed[Plan]) -> None:
        """Take a plan up: its round begins."""
        key = plan.message.federation, plan.message.round
        self.plans[key], self.stages[key] = plan, Stage.CONTRIBUTING
        self._newest_round[key[0]] = key[1]

    def add_prior(self, leaf: PriorPublished, place: int) -> None:
        """Take a prior up."""
        key = leaf.federation, leaf.prior.message.version
        self.priors[key], self.published[key] = (leaf.prior, place), leaf
        self._newest_prior[key[0]] = key[1]

    def add_roster(self, roster: Signed[Roster]) -> None:
        """Take a roster version up."""
        key = roster.message.federation, roster.message.version
        self.rosters[key] = roster
        self._newest_roster[key[0]] = key[1]

    _newest_round: dict[str, int] = field(default_factory=dict)
    _newest_prior: dict[str, int] = field(default_factory=dict)
    _newest_roster: dict[str, int] = field(default_factory=dict)


def add(documents: dict[K, V], key: K, document: V, what: str) -> None:
    """Take a document up that may stand in the log once.

    Raises:
        VerificationError: there is one already.
    """
    if key in documents:
        raise VerificationError(f"{what} stands in the log twice")
    documents[key] = document


def require(holds: bool, reason: str) -> None:
    """Raise VerificationError where something does not hold."""
    if not holds:
        raise VerificationError(reason)

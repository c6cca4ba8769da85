"""A client of a federation in memory: its keys and its journal.

What it remembers comes from its records alone, so that a restart is a new `Client` over the same records.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr import signatures
from fgpr.message import Signed
from fgpr.secagg.declared_weight import DeclaredWeight
from fgpr.secagg.history import Floors, History, PastRound, Revocations
from fgpr.secagg.member import Member
from fgpr.secagg.messages import Cohort, LogPosition, OpeningKey, Plan
from fgpr.secagg.roster import Roster
from fgpr.secagg.suites import SUITES, PrivateHalf, SuiteName, private_half

NAME = "engines"
"""The federation."""

SECONDS = 1_930_000_000
"""The time that stands in cosignatures: 2031-02-27."""


@dataclass(frozen=True)
class PlanChecked:
    """Journal record: a plan passed the checks."""

    plan: Plan
    roster: Roster
    checkpoint: LogPosition


@dataclass(frozen=True)
class ContributionWritten:
    """Journal record: the body of a contribution, before it was sent."""

    round: int
    body: bytes


@dataclass(frozen=True)
class CohortOpened:
    """Journal record: the one cohort opened in a round, with the answer and who is revoked, before it was sent."""

    round: int
    cohort: Cohort
    body: bytes
    revocations: Revocations | None


@dataclass
class Client:
    """A client and all that it keeps on disk: keys and journal."""

    name: str
    identity_key: Ed25519PrivateKey
    random_bytes: Callable[[int], bytes]
    journal: list[PlanChecked | ContributionWritten | CohortOpened] = field(default_factory=list)
    opening_keys: dict[int, PrivateHalf] = field(default_factory=dict)
    floors: Floors = field(default_factory=Floors)
    suite: SuiteName = "x25519"

    def restarted(self) -> "Client":
        """The same client after a restart: what was on disk, nothing else."""
        keys = dict(self.opening_keys)
        return Client(
            self.name, self.identity_key, self.random_bytes, list(self.journal), keys, self.floors, self.suite
        )

    def declare(self, weight: int) -> Signed[DeclaredWeight]:
        """A declared weight under its identity key."""
        declared = DeclaredWeight(federation=NAME, client=self.name, weight=weight)
        return Signed[DeclaredWeight].make(self.identity_key, declared)

    def public_key(self) -> bytes:
        """Public half of the identity key."""
        return signatures.public_bytes(self.identity_key)

    def new_key(self) -> Signed[OpeningKey]:
        """The next opening key, signed; its private half stays here."""
        serial = max(self.opening_keys, default=0) + 1
        self.opening_keys[serial] = private_half(self.random_bytes(SUITES[self.suite].private_bytes))
        public = self.opening_keys[serial].public_key().public_bytes_raw()
        key = OpeningKey(federation=NAME, client=self.name, serial=serial, suite=self.suite, key=public)
        return Signed[OpeningKey].make(self.identity_key, key)

    def history(self) -> History:
        """What the journal says."""
        checked = [record for record in self.journal if isinstance(record, PlanChecked)]
        written = {record.round for record in self.journal if isinstance(record, ContributionWritten)}
        opened = {record.round: record.cohort for record in self.journal if isinstance(record, CohortOpened)}
        read = [record.revocations for record in self.journal if isinstance(record, CohortOpened)]
        serials: dict[str, int] = {}
        for record in checked:
            serials |= {seat.client: seat.key.message.serial for seat in record.plan.seats if seat.key is not None}
        plans = [record.plan for record in checked]
        return History(
            rounds=tuple(
                PastRound(record.plan, record.roster, record.plan.round in written, opened.get(record.plan.round))
                for record in checked
            ),
            last_round=max((plan.round for plan in plans), default=0),
            prior_version=max((plan.prior_version for plan in plans), default=0),
            roster_version=max((plan.roster_version for plan in plans), default=0),
            serials=serials,
            checkpoint=checked[-1].checkpoint if checked else None,
            revocations=read[-1] if read else None,
        )

    def forget_keys(self, plan: Plan) -> None:
        """Drop the private halves that a checked plan has replaced."""
        seat = plan.seat_of(self.name)
        key = None if seat is None else plan.seats[seat - 1].key
        if key is not None:
            self.opening_keys = {
                serial: held for serial, held in self.opening_keys.items() if serial >= key.message.serial
            }

    def member(self, plan: Plan) -> Member:
        """The client with the private half of the key in its seat, if it still has it."""
        seat = plan.seat_of(self.name)
        key = None if seat is None else plan.seats[seat - 1].key
        return Member(self.name, self.identity_key, None if key is None else self.opening_keys.get(key.message.serial))

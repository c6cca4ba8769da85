"""What a client remembers of its federation, as far as the checks need it, and the floors that its owner sets.

A value, not a store: the agent reads it from its journal before each check. Everything here was checked when it was
learned.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated

from pydantic import PlainSerializer

from fgpr.message import Message, Name
from fgpr.secagg.messages import Cohort, LogPosition, Plan, Positive
from fgpr.secagg.roster import Roster
from fgpr.secagg.suites import SuiteName


@dataclass(frozen=True)
class Floors:
    """The weakest settings that the owner of a client takes from a plan.

    Attributes:
        gamma: least assumed share of corrupt or curious clients.
        min_cohort: fewest contributions that may be opened together.
        committee: fewest seats.
        weight_cap: largest weight cap.
        suite: the weakest suite of boxes.
        carries: most rounds in a row that may carry the same theta before the owner is asked.
        groups: most groups whose averages a round may reveal apart.
        noise: least noise multiplier of differential privacy; 0 takes plans without any, too.
        required_peers: key ids that have to stand in the roster, not revoked.
        accepted_peers: the only key ids, besides the client's own, that may be invited or seated; None takes any.
    """

    gamma: float = 0.2
    min_cohort: int = 3
    committee: int = 3
    weight_cap: int = 65_535
    suite: SuiteName = "x25519"
    carries: int = 1
    groups: int = 32
    noise: float = 0.0
    required_peers: frozenset[str] = frozenset()
    accepted_peers: frozenset[str] | None = None


@dataclass(frozen=True)
class PastRound:
    """A round whose plan this client checked.

    Attributes:
        plan: its plan.
        roster: the roster that the plan names.
        contributed: whether a contribution was written for it, sent or not.
        opened: the one cohort that this client opened in it, written before it answered; None where it has not.
    """

    plan: Plan
    roster: Roster
    contributed: bool = False
    opened: Cohort | None = None

    @property
    def may_be_open(self) -> bool:
        """Whether this client helped a sum of it along: by its contribution, or by opening a cohort with clients."""
        return self.contributed or (self.opened is not None and bool(self.opened.members))


class Revocations(Message):
    """Who was revoked since a roster was signed, as far as this client read the audit log as a member.

    Attributes:
        position: the checkpoint up to which it read; everything from the roster's checkpoint on was read.
        roster_version: the roster.
        clients: those whom the leaves in between revoke.
    """

    position: LogPosition
    roster_version: Positive
    clients: Annotated[frozenset[Name], PlainSerializer(sorted, return_type=list[str])]


@dataclass(frozen=True)
class History:
    """All that a client remembers.

    Attributes:
        rounds: checked rounds, oldest first; at least those of the present theta.
        last_round: the highest round number ever checked.
        prior_version: the highest prior version ever checked.
        roster_version: the highest roster version ever checked.
        serials: the highest serial seen of each client's opening key.
        checkpoint: the last checkpoint of the audit log that it kept.
        revocations: what it read of the log when it last opened a cohort.
    """

    rounds: tuple[PastRound, ...] = ()
    last_round: int = 0
    prior_version: int = 0
    roster_version: int = 0
    serials: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    checkpoint: LogPosition | None = None
    revocations: Revocations | None = None

    def round(self, number: int) -> PastRound | None:
        """The remembered round of that number."""
        return next((past for past in self.rounds if past.plan.round == number), None)

    def opened_for(self, theta_version: int) -> tuple[tuple[PastRound, Cohort], ...]:
        """Rounds and their cohorts, not empty, that this client opened for one theta."""
        return tuple(
            (past, past.opened)
            for past in self.rounds
            if past.plan.theta_version == theta_version and past.opened is not None and past.opened.members
        )

    def carried_into(self, plan: Plan) -> PastRound | None:
        """The last round that started from the theta of `plan` as an earlier prior version."""
        return next(
            (
                past
                for past in reversed(self.rounds)
                if past.plan.theta_version == plan.theta_version and past.plan.prior_version < plan.prior_version
            ),
            None,
        )

"""A plan under the checks of a client, with whatever a malicious aggregator changes of it."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr.message import Signed
from fgpr.secagg.checked_plan import Anchors, CheckedPlan, LogView, NamedPrior, check_plan
from fgpr.secagg.history import Floors, History, PastRound
from fgpr.secagg.messages import Cohort, OpeningKey, Plan, Seat
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.roster import Roster
from support.federation import Federation

RULES = AggregationRules(fraction_bits=42)


@dataclass
class Case:
    """The arguments of one check, and the federation from which they come."""

    federation: Federation
    plan: Plan
    roster: Signed[Roster]
    prior: NamedPrior
    log: LogView
    history: History
    floors: Floors
    anchors: Anchors
    client: str = "client-01"
    key: Ed25519PrivateKey | None = None

    def check(self) -> CheckedPlan:
        return check_plan(
            Signed[Plan].make(self.key or self.federation.service_key, self.plan),
            client=self.client,
            anchors=self.anchors,
            roster=self.roster,
            prior=self.prior,
            log=self.log,
            history=self.history,
            floors=self.floors,
        )

    def change(self, **fields: Any) -> None:
        """Change the plan; the malicious aggregator signs it again."""
        self.plan = self.plan.model_copy(update=fields)

    def change_roster(self, **fields: Any) -> None:
        """Another roster that the plan names, signed by the roster key."""
        self.roster = Signed[Roster].make(self.federation.roster_key, self.roster.message.model_copy(update=fields))
        self.change(roster_version=self.roster.message.version, roster_digest=self.roster.message.digest())

    def change_prior(self, **fields: Any) -> None:
        self.prior = dataclasses.replace(self.prior, **fields)

    def remember(self, **fields: Any) -> None:
        self.history = dataclasses.replace(self.history, **fields)

    def remember_round(self, contributed: bool = True, opened: Cohort | None = None, **fields: Any) -> None:
        """An earlier round whose plan differed from this one in these fields."""
        before = self.plan.model_copy(update={"round": self.plan.round - 1} | fields)
        rounds = (*self.history.rounds, PastRound(before, self.roster.message, contributed, opened))
        self.remember(rounds=rounds, last_round=before.round)

    def with_key(self, seat: int, key: Signed[OpeningKey]) -> tuple[Seat, ...]:
        """The seats with another key in one of them."""
        seats = list(self.plan.seats)
        seats[seat - 1] = seats[seat - 1].model_copy(update={"key": key})
        return tuple(seats)

    def key_of(self, seat: int) -> Signed[OpeningKey]:
        key = self.plan.seats[seat - 1].key
        assert key is not None
        return key


def case(size: int = 5, rules: AggregationRules = RULES) -> Case:
    """An honest plan for so many clients, about to be checked by client-01."""
    federation = Federation(size, rules)
    signed = federation.plan()
    history = federation.clients["client-01"].history()
    return Case(
        federation=federation,
        plan=signed.message,
        roster=federation.roster,
        prior=federation.named_prior(),
        log=federation.log.view(signed.message, None),
        history=history,
        floors=Floors(),
        anchors=federation.anchors,
    )

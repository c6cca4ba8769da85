"""A cohort under the checks of a member, with whatever a malicious aggregator changes of it."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr.auditlog import entries
from fgpr.message import Signed
from fgpr.secagg.checked_plan import CheckedPlan
from fgpr.secagg.history import Floors, History
from fgpr.secagg.log_span import LogSpan, span_start
from fgpr.secagg.member import Member, OpenedCohort, open_cohort
from fgpr.secagg.messages import Cohort, CohortView
from fgpr.secagg.planning import AggregationRules
from support.client import NAME, SECONDS
from support.federation import Federation

ME = "client-01"


@dataclass
class Case:
    """The arguments of one opening, and the federation from which they come."""

    federation: Federation
    checked: CheckedPlan
    view: CohortView
    span: LogSpan
    member: Member
    history: History
    floors: Floors

    def open(self) -> OpenedCohort:
        return open_cohort(
            self.checked,
            self.view,
            self.span,
            self.member,
            self.federation.clients[ME].new_key(),
            service_key=self.federation.anchors.service_key,
            history=self.history,
            floors=self.floors,
            revoked_by=lambda leaf: entries.revoked_by(leaf, NAME),
            seconds=SECONDS,
        )

    def recount(self, key: Ed25519PrivateKey | None = None, **fields: Any) -> None:
        """Another cohort under the service key's signature, or under another key's; the entries stay."""
        cohort = self.view.cohort.message.model_copy(update=fields)
        signed = Signed[Cohort].make(key or self.federation.service_key, cohort)
        self.view = self.view.model_copy(update={"cohort": signed})

    def count(self, *names: str) -> None:
        """The cohort of these clients, with their entries."""
        self.view = self.federation.view(ME, self.federation.cohort_of(names))
        self.read()

    def read(self) -> None:
        """Fetch the leaves that the member has yet to read for this cohort."""
        start, cohort = span_start(self.checked, self.history), self.view.cohort.message
        self.span = self.federation.log.span(start, cohort, self.history.checkpoint)

    def change_entry(self, place: int, **fields: Any) -> None:
        lines = list(self.view.entries)
        lines[place] = lines[place].model_copy(update=fields)
        self.view = self.view.model_copy(update={"entries": tuple(lines)})

    def remember(self, **fields: Any) -> None:
        self.history = dataclasses.replace(self.history, **fields)


def case(size: int = 5, rules: AggregationRules | None = None) -> Case:
    """An honest cohort of so many clients, about to be opened by client-01."""
    made = Federation(size, rules)
    made.plan()
    for name in made.names:
        made.contribute(name, np.array([0.1, 0.2, 0.3]), 2)
    made.close()
    assert made.now.cohort is not None
    checked, client = made.check(ME), made.clients[ME]
    history = client.history()
    span = made.log.span(span_start(checked, history), made.now.cohort.message, history.checkpoint)
    view = made.view(ME, made.now.cohort)
    return Case(made, checked, view, span, client.member(checked.plan), history, Floors())

"""One round of n clients, L = 32, 10 % lost, cut into what one party computes of it.

Reading messages and writing them down is apart from checking them and the party's own work. Training, disks, the
network and HTTP signatures are in none of it.
"""

from dataclasses import dataclass, field

import numpy as np

from fgpr import merkle
from fgpr.auditlog import entries
from fgpr.gp.model import Feature, ModelSpec, Target
from fgpr.message import Signed
from fgpr.secagg import opening
from fgpr.secagg.checked_plan import CheckedPlan, check_plan, recall
from fgpr.secagg.contributor import contribute
from fgpr.secagg.history import Floors, History, PastRound
from fgpr.secagg.log_span import span_start
from fgpr.secagg.member import open_cohort
from fgpr.secagg.messages import Cohort, CohortEntry, CohortView, Contribution, Opening, Plan
from fgpr.secagg.roster import Roster
from support.client import NAME, SECONDS, Client
from support.federation import Federation

NUMBERS = 32
LOST = 0.1
WEIGHT = 192
SPEC = ModelSpec.with_default_bounds(
    [Feature(f"x{number}", "1", 0.0, 1.0) for number in range(NUMBERS - 2)], Target("y", "1", "standardise"), "rbf"
)


@dataclass
class ARound:
    """The round, with what has been sent so far.

    Attributes:
        clients: n.
        uploads: bodies of contributions by client.
        answers: bodies of openings by member.
        cohort: once it is closed.
    """

    clients: int
    uploads: dict[str, bytes] = field(default_factory=dict)
    answers: dict[str, bytes] = field(default_factory=dict)
    cohort: Signed[Cohort] | None = None
    _trees: dict[str, merkle.Tree] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Open the round."""
        self.federation = Federation(self.clients, spec=SPEC)
        self.federation.plan()
        state = self.federation.now
        self.plan, self.roster = state.plan.encode(), state.roster.encode()
        self.values = self.federation.prior.vector() + 0.1
        invited = state.plan.message.invited
        self.present = invited[: len(invited) - int(LOST * len(invited))]
        seated = [seat.client for seat in state.plan.message.seats]
        self.members = tuple(seated[: len(seated) - int(LOST * len(seated))])

    def read_plan(self) -> tuple[Signed[Plan], Signed[Roster]]:
        """A client reads plan and roster."""
        return Signed[Plan].decode(self.plan), Signed[Roster].decode(self.roster)

    def client(self, name: str, signed: Signed[Plan], roster: Signed[Roster]) -> tuple[CheckedPlan, Contribution]:
        """It checks them and contributes."""
        made, client = self.federation, self.federation.clients[name]
        checked = check_plan(
            signed,
            client=name,
            anchors=made.anchors,
            roster=roster,
            prior=made.named_prior(),
            log=made.log.view(signed.message, None),
            history=client.history(),
            floors=Floors(),
        )
        return checked, self._contribution(checked, client)

    def contribute_all(self, checked: CheckedPlan) -> None:
        """Everybody who is there sends a contribution; the plan is not checked again."""
        for name in self.present:
            self.uploads[name] = self._contribution(checked, self.federation.clients[name]).encode()

    def read_uploads(self) -> dict[str, Contribution]:
        """The aggregator reads every contribution."""
        return {name: Contribution.decode(body) for name, body in self.uploads.items()}

    def take_uploads(self, read: dict[str, Contribution]) -> dict[str, Contribution]:
        """It checks them, and closes the cohort."""
        made, plan = self.federation, self.federation.now.plan.message
        for contribution in read.values():
            opening.check_contribution(plan, plan.digest(), made.roster.message, contribution)
        headers = {name: contribution.header.message for name, contribution in read.items()}
        cohort = opening.close(plan, plan.digest(), headers, made.log.position())
        assert cohort is not None
        self.cohort = Signed[Cohort].make(made.service_key, cohort)
        return read

    def view(self, name: str, taken: dict[str, Contribution]) -> CohortView:
        """It puts the cohort together for one member."""
        cohort, seat = self.cohort, self.federation.now.plan.message.seat_of(name)
        assert cohort is not None
        assert seat is not None
        lines = []
        for counted in cohort.message.members:
            made = taken[counted.client]
            if counted.client not in self._trees:
                self._trees[counted.client] = merkle.Tree([merkle.leaf_hash(box) for box in made.boxes])
            path = merkle.inclusion_proof(seat - 1, len(made.boxes), self._trees[counted.client].node)
            lines.append(CohortEntry(header=made.header, box=made.boxes[seat - 1], path=path))
        return CohortView(cohort=cohort, entries=tuple(lines))

    def member(self, name: str, view: CohortView) -> Signed[Opening]:
        """A member checks the cohort and opens it."""
        made, client = self.federation, self.federation.clients[name]
        past = PastRound(made.now.plan.message, made.roster.message)
        checked, history = recall(past), History(rounds=(past,), last_round=1)
        return open_cohort(
            checked,
            view,
            made.log.span(span_start(checked, history), view.cohort.message, None),
            client.member(checked.plan),
            client.new_key(),
            service_key=made.anchors.service_key,
            history=history,
            floors=Floors(),
            revoked_by=lambda leaf: entries.revoked_by(leaf, NAME),
            seconds=SECONDS,
        ).opening

    def open_all(self, taken: dict[str, Contribution]) -> None:
        """Every member who is there answers; what it gets is not written down and read again."""
        for name in self.members:
            self.answers[name] = self.member(name, self.view(name, taken)).encode()

    def read_openings(self) -> list[Signed[Opening]]:
        """The aggregator reads every opening."""
        return [Signed[Opening].decode(body) for body in self.answers.values()]

    def take_openings(self, answers: list[Signed[Opening]]) -> list[Opening]:
        """It checks t + spare of them, with which it publishes, and only the keys of those that come after."""
        plan, roster, cohort = self.federation.now.plan.message, self.federation.roster.message, self.cohort
        assert cohort is not None
        enough = plan.threshold + plan.spare
        for answer in answers[:enough]:
            opening.check_opening(plan, roster, cohort.message, answer)
        for late in answers[enough:]:
            opening.check_next_key(plan, roster, late.message.client, late.message.next_key)
        return [answer.message for answer in answers[:enough]]

    def unmask(self, taken: dict[str, Contribution], answers: list[Opening]) -> opening.Unmasked:
        """It interpolates, subtracts, decodes."""
        assert self.cohort is not None
        masked = {name: made.masked for name, made in taken.items()}
        return opening.unmask(self.federation.now.plan.message, self.cohort.message, masked, answers)

    def check_published(self, unmasked: opening.Unmasked) -> None:
        """What was timed has to be right."""
        np.testing.assert_allclose(unmasked.average, self.values, atol=1e-7, rtol=0)
        assert unmasked.total_weight == WEIGHT * len(self.present)

    def _contribution(self, checked: CheckedPlan, client: Client) -> Contribution:
        made = contribute(checked, client.name, client.identity_key, self.values, WEIGHT, self.federation.random_bytes)
        return made.contribution

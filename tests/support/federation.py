"""A federation in memory: clients with journals and an aggregator that is nothing but values.

Every step goes through the library's functions in the order in which the services call them. Who takes part in a step
is the test's choice.
"""

import random
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr import merkle, signatures
from fgpr.auditlog import entries
from fgpr.auditlog.trail import Trail
from fgpr.errors import CohortRefused
from fgpr.federated import federation as settings
from fgpr.federated import publication
from fgpr.federated.publication import PriorRecord
from fgpr.gp.model import Feature, ModelSpec, Target
from fgpr.message import Signed
from fgpr.secagg import opening
from fgpr.secagg.checked_plan import Anchors, CheckedPlan, NamedPrior, check_plan, recall
from fgpr.secagg.complaint import check_complaint, complain, convicted
from fgpr.secagg.contributor import Contributed, contribute
from fgpr.secagg.log_span import LogSpan, span_start
from fgpr.secagg.member import open_cohort
from fgpr.secagg.messages import Cohort, CohortEntry, CohortView, Complaint, Contribution, Opening, Plan, VoidProof
from fgpr.secagg.planning import AggregationRules, committee_of, plan_round
from fgpr.secagg.roster import Roster, RosterEntry
from fgpr.secagg.stages import Event, Stage, after
from fgpr.secagg.witnessing import check_cosignatures
from support import whole_log
from support.client import NAME, SECONDS, Client, CohortOpened, ContributionWritten, PlanChecked
from support.log import Log
from support.round_state import RoundState

SPEC = ModelSpec.with_default_bounds([Feature("cycle", "1", 0.0, 100.0)], Target("T24", "degR", "standardise"), "rbf")


class Federation:
    """K clients and their aggregator.

    Args:
        size: K; the clients are client-00, client-01 and so on.
        rules: of secure aggregation.
        spec: the model; theta has three numbers by default.
        weights: what the clients declare where the rules draw by weight, by id; by default 10, 20, 30 and so on.
        seed: of every random byte except those that HPKE draws itself.
        logs_all: whether everything is logged, so that the log can be verified from its first leaf; else only what
            members and clients read of it.
        witnesses: what the settings ask for.
    """

    def __init__(
        self,
        size: int,
        rules: AggregationRules | None = None,
        spec: ModelSpec = SPEC,
        seed: int = 1,
        weights: Mapping[str, int] | None = None,
        logs_all: bool = False,
        witnesses: int = 0,
    ) -> None:
        self.random_bytes = random.Random(seed).randbytes
        self.rules, self.spec = rules or AggregationRules(), spec
        self.service_key, self.roster_key = self._identity(), self._identity()
        # As many digits as the last one needs, so that the order of ids is that of the numbers.
        digits = max(2, len(str(size - 1)))
        names = [f"client-{number:0{digits}d}" for number in range(size)]
        self.clients = {
            name: Client(name, self._identity(), self.random_bytes, suite=self.rules.suite) for name in names
        }
        self.weights = weights or {name: 10 * place for place, name in enumerate(names, start=1)}
        self.keys = {name: client.new_key() for name, client in self.clients.items()}
        self.anchors = Anchors(
            NAME, signatures.public_bytes(self.service_key), signatures.public_bytes(self.roster_key)
        )
        self.log = Log()
        self.rounds: dict[int, RoundState] = {}
        self.priors: list[PriorRecord] = []
        self.revoked: set[str] = set()
        self.settings = settings.Federation(
            name=NAME, model=spec.to_json(), aggregation=self.rules, witnesses=witnesses
        )
        self.logs_all = logs_all
        if logs_all:
            key = signatures.public_bytes(self.roster_key)
            self.log.append(entries.FederationCreated(federation=NAME, settings=self.settings, roster_key=key))
            self.publish(publication.initial(NAME, spec))
            for name, client in self.clients.items():
                weight = self.weights[name] if self.rules.draw == "weights" else None
                whole_log.enrol(self.log, client, self.random_bytes(32), weight, self.keys[name])
            self.sign_roster(1)
        else:
            self.roster = self.new_roster(1)
            self.publish(publication.initial(NAME, spec))

    @property
    def names(self) -> tuple[str, ...]:
        """Ids of all clients."""
        return tuple(self.clients)

    @property
    def prior(self) -> PriorRecord:
        """The newest prior."""
        return self.priors[-1]

    @property
    def now(self) -> RoundState:
        """The newest round."""
        return self.rounds[max(self.rounds)]

    def sign_roster(self, version: int) -> None:
        """A roster version comes into force, with its leaf."""
        self.roster = self.new_roster(version)
        self.log.append(entries.RosterSigned(federation=NAME, roster=self.roster))

    def verified(self) -> Trail:
        """The log, verified from its first leaf."""
        return whole_log.verified(self.log, self.anchors)

    def _identity(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.random_bytes(32))

    def new_roster(self, version: int) -> Signed[Roster]:
        """A roster version with a fresh nonce."""
        lines = tuple(
            RosterEntry(
                client=name,
                identity_key=client.public_key(),
                may_serve=True,
                revoked=name in self.revoked,
                declared=client.declare(self.weights[name]) if self.rules.draw == "weights" else None,
            )
            for name, client in self.clients.items()
        )
        nonce, checkpoint = self.random_bytes(32), self.log.position()
        roster = Roster(federation=NAME, version=version, clients=lines, nonce=nonce, checkpoint=checkpoint)
        return Signed[Roster].make(self.roster_key, roster)

    def publish(self, record: PriorRecord, *, spare: int = 0, disputed: tuple[str, ...] = ()) -> None:
        """Sign a prior and log it."""
        self.priors.append(record)
        signed = Signed[PriorRecord].make(self.service_key, record)
        openings = () if record.opened is None or not self.logs_all else whole_log.answered(self.now.openings)
        leaf = entries.PriorPublished(
            federation=NAME, prior=signed, openings=openings, spare=spare if openings else 0, disputed=disputed
        )
        self.log.append(leaf)

    def revoke(self, name: str) -> None:
        """Revoke a client; the roster in force stays what it is."""
        self.revoked.add(name)
        self.log.append(entries.Revoked(federation=NAME, client=name, by="operator"))

    def plan(self, **changes: Any) -> Signed[Plan]:
        """Open a round; `changes` are made to the plan before it is signed."""
        void = [
            VoidProof(cohort=state.empty, openings=tuple(state.openings.values()))
            for state in self.rounds.values()
            if state.stage is Stage.VOID
            and state.empty is not None
            and state.plan.message.prior_version == self.prior.version
        ]
        plan = plan_round(
            number=max(self.rounds, default=0) + 1,
            rules=self.rules,
            roster=self.roster.message,
            keys=self.keys,
            codec=publication.codec_for(self.spec, self.rules),
            training=self.settings.training_settings().to_json() if self.logs_all else {"steps": 3, "rate": 0.5},
            prior_version=self.prior.version,
            theta_version=self.prior.theta_version,
            prior_digest=self.prior.digest(),
            checkpoint=self.log.position(),
            void=void,
            contribute_until="2031-03-09T21:30:00.000Z",
            open_until="2031-03-09T21:40:00.000Z",
            origin=self.prior.theta,
        )
        signed = self.signed(plan.model_copy(update=changes))
        self.rounds[signed.message.round] = RoundState(signed, self.roster)
        self.log.append(entries.RoundPlanned(federation=NAME, plan=signed))
        return signed

    def signed(self, plan: Plan) -> Signed[Plan]:
        """A plan under the service key's signature."""
        return Signed[Plan].make(self.service_key, plan)

    def named_prior(self) -> NamedPrior:
        """The newest prior as the checks take it."""
        record = self.prior
        return NamedPrior(record.version, record.theta_version, record.digest(), record.vector())

    def check(self, name: str) -> CheckedPlan:
        """A client checks the newest plan and writes that down; a second time it reads what it wrote."""
        client, signed = self.clients[name], self.now.plan
        history = client.history()
        past = history.round(signed.message.round)
        if past is not None and past.plan == signed.message:
            return recall(past)
        checked = check_plan(
            signed,
            client=name,
            anchors=self.anchors,
            roster=self.now.roster,
            prior=self.named_prior(),
            log=self.log.view(signed.message, history.checkpoint),
            history=history,
            floors=client.floors,
        )
        client.journal.append(PlanChecked(checked.plan, checked.roster, self.log.position()))
        client.forget_keys(checked.plan)
        return checked

    def contribute(self, name: str, values: np.ndarray, observations: int = 1) -> Contributed:
        """A client checks the plan, writes its contribution and sends it."""
        client, checked = self.clients[name], self.check(name)
        made = contribute(checked, name, client.identity_key, values, observations, self.random_bytes)
        client.journal.append(ContributionWritten(checked.plan.round, made.contribution.encode()))
        self.receive(made.contribution)
        return made

    def receive(self, contribution: Contribution) -> None:
        """The aggregator takes a contribution in."""
        plan = self.now.plan.message
        opening.check_contribution(plan, plan.digest(), self.now.roster.message, contribution)
        self.now.contributions[contribution.header.message.client] = contribution

    def close(self) -> Cohort | None:
        """Fix the cohort, or abort where too few can be counted."""
        state, plan = self.now, self.now.plan.message
        headers = {n: c.header.message for n, c in state.contributions.items() if n not in self.revoked}
        opened = [
            earlier.cohort.message.clients()
            for earlier in self.rounds.values()
            if earlier.stage is Stage.CARRIED
            and earlier.cohort is not None
            and earlier.plan.message.theta_version == plan.theta_version
        ]
        least = committee_of(plan, state.roster.message).corrupt_group + 2
        cohort = opening.close(plan, plan.digest(), headers, self.log.position(), opened, least)
        if cohort is None:
            self.abort(Event.TOO_FEW_CONTRIBUTIONS)
            return None
        state.stage, state.cohort = after(state.stage, Event.CLOSED), Signed[Cohort].make(self.service_key, cohort)
        self.log.append(entries.CohortClosed(federation=NAME, cohort=state.cohort))
        return cohort

    def cohort_of(self, counted: Iterable[str]) -> Signed[Cohort]:
        """A cohort of exactly these contributions, signed: what a malicious aggregator can always make."""
        plan, stored = self.now.plan.message, self.now.contributions
        headers = {name: stored[name].header.message for name in counted}
        return Signed[Cohort].make(self.service_key, opening.cohort_of(plan, plan.digest(), headers, plan.checkpoint))

    def view(self, name: str, cohort: Signed[Cohort], stored: Mapping[str, Contribution] | None = None) -> CohortView:
        """A cohort as one member gets it."""
        contributions = self.now.contributions if stored is None else stored
        seat = self.now.plan.message.seat_of(name) or 1
        lines = []
        for counted in cohort.message.members:
            made = contributions[counted.client]
            tree = merkle.Tree([merkle.leaf_hash(box) for box in made.boxes])
            path = merkle.inclusion_proof(seat - 1, len(made.boxes), tree.node)
            lines.append(CohortEntry(header=made.header, box=made.boxes[seat - 1], path=path))
        return CohortView(cohort=cohort, entries=tuple(lines))

    def ask(self, name: str, view: CohortView, span: LogSpan | None = None) -> Signed[Opening]:
        """A member checks a cohort, writes down which it opens, and answers; what it opened it answers again."""
        client, checked = self.clients[name], self.check(name)
        cohort = view.cohort.message
        for record in client.journal:
            if isinstance(record, CohortOpened) and record.cohort.digest() == cohort.digest():
                return Signed[Opening].decode(record.body)
        history, keys = client.history(), dict(client.opening_keys)
        next_key = client.new_key()
        try:
            opened = open_cohort(
                checked,
                view,
                span or self.log.span(span_start(checked, history), cohort, history.checkpoint),
                client.member(checked.plan),
                next_key,
                service_key=self.anchors.service_key,
                history=history,
                floors=client.floors,
                revoked_by=lambda leaf: entries.revoked_by(leaf, NAME),
                seconds=SECONDS,
            )
        except Exception:
            client.opening_keys = keys
            raise
        client.journal.append(CohortOpened(cohort.round, cohort, opened.opening.encode(), opened.revocations))
        return opened.opening

    def open(self, name: str) -> Signed[Opening]:
        """A member answers the closed cohort, or after an abort the empty one, and the aggregator takes it in."""
        state = self.now
        signed = state.empty or state.cohort
        assert signed is not None
        answer = self.ask(name, self.view(name, signed))
        self.take(answer, signed.message)
        return answer

    def take(self, answer: Signed[Opening], cohort: Cohort) -> None:
        """The aggregator takes an opening in."""
        member, roster = answer.message.client, self.now.roster.message
        opening.check_opening(self.now.plan.message, roster, cohort, answer)
        check_cosignatures(roster, cohort, [(member, answer.message.cosignature)], self.anchors.service_key)
        if self.logs_all:
            whole_log.register(self.log, answer.message.next_key)
        self.now.openings[answer.message.client] = answer
        self.keys[answer.message.client] = answer.message.next_key

    def complain(self, name: str) -> Signed[Complaint]:
        """A member complains of the boxes of the closed cohort that do not open; the aggregator takes it in."""
        state = self.now
        assert state.cohort is not None
        view, client = self.view(name, state.cohort), self.clients[name]
        try:
            self.ask(name, view)
        except CohortRefused as refused:
            made = complain(self.check(name), view, name, client.identity_key, refused.accused)
        else:
            raise AssertionError(f"every box of {name} opens")
        self.take_complaint(made)
        return made

    def take_complaint(self, made: Signed[Complaint]) -> None:
        """The aggregator takes a complaint in, and revokes whom the complaints of the round convict."""
        state, plan, roster = self.now, self.now.plan.message, self.now.roster.message
        assert state.cohort is not None
        check_complaint(plan, roster, state.cohort.message, made)
        state.complaints[made.message.client] = made
        self.log.append(entries.ComplaintFiled(federation=NAME, complaint=made))
        for liar in convicted(plan, roster, [one.message for one in state.complaints.values()]):
            if liar not in self.revoked:
                self.revoked.add(liar)
                self.log.append(entries.Convicted(federation=NAME, client=liar, round=plan.round))

    def finish(self, *, last_chance: bool = True) -> PriorRecord:
        """Unmask the sum and publish the next prior."""
        state, plan = self.now, self.now.plan.message
        assert state.cohort is not None
        masked = {name: made.masked for name, made in state.contributions.items()}
        answers = [signed.message for signed in state.openings.values()]
        state.unmasked = opening.unmask(plan, state.cohort.message, masked, answers, last_chance=last_chance)
        record = publication.averaged(
            self.prior, plan, plan.digest(), state.cohort.message, state.unmasked, self._plans_since()[:-1]
        )
        state.stage = after(state.stage, Event.SUM_OPENED if record.reason == "averaged" else Event.STEP_REFUSED)
        state.contributions.clear()
        self.publish(record, spare=state.unmasked.spare, disputed=state.unmasked.disputed)
        return record

    def abort(self, event: Event) -> None:
        """End the round without a prior; its members may prove it void."""
        state, plan = self.now, self.now.plan.message
        empty = opening.cohort_of(plan, plan.digest(), {}, self.log.position())
        state.empty = Signed[Cohort].make(self.service_key, empty)
        state.stage = after(state.stage, event)
        state.contributions.clear()
        state.openings.clear()
        self.log.append(entries.RoundAborted(federation=NAME, round=plan.round, reason=event.value, cohort=state.empty))

    def settle(self) -> Stage:
        """Void where enough members opened the empty cohort, else carried."""
        state = self.now
        proven = len(state.openings) >= state.plan.message.threshold
        state.stage = after(state.stage, Event.VOID_PROVEN if proven else Event.VOID_TIMED_OUT)
        if proven and self.logs_all:
            number = state.plan.message.round
            self.log.append(
                entries.RoundVoid(federation=NAME, round=number, openings=whole_log.answered(state.openings))
            )
        if not proven:
            self.publish(publication.carried(self.prior, state.plan.message.round, self._plans_since()))
        return state.stage

    def _plans_since(self) -> list[Plan]:
        """Plans of the rounds after that of the newest prior."""
        return [state.plan.message for number, state in self.rounds.items() if number > (self.prior.round or 0)]

    def run(
        self, updates: Mapping[str, tuple[npt.ArrayLike, int]], openers: Iterable[str] | None = None
    ) -> PriorRecord | None:
        """One whole round: who contributes what, and who opens. None where it was aborted."""
        self.plan()
        for name, (values, observations) in updates.items():
            self.contribute(name, np.asarray(values, dtype=np.float64), observations)
        if self.close() is None:
            return None
        for name in self.names if openers is None else openers:
            self.open(name)
        if len(self.now.openings) < self.now.plan.message.threshold:
            self.abort(Event.TOO_FEW_OPENINGS)
            return None
        return self.finish()

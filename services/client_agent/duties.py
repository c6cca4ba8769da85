"""What a client owes one round, step by step: check its plan, contribute, open its cohort, prove it void.

Every refusal and every reason why nothing was sent is told to the owner. What is tried again raises.
"""

import hashlib
from collections.abc import Callable

from client_agent import committee_duty, contribution, plan_check
from client_agent.agent import Agent
from client_agent.contribution import Observer
from client_agent.events import Kind, Reporter
from client_agent.local_data import Source
from fgpr.errors import (
    CohortRefused,
    Conflict,
    CryptographicError,
    DataError,
    EncodingError,
    LocalProtocolError,
    NumericalError,
    OwnerConsentRequired,
    PlanRefused,
    RemoteProtocolError,
    TooLate,
    VerificationError,
)
from fgpr.federated.publication import PriorRecord
from fgpr.message import Signed
from fgpr.rest import AbortedRound, Receipt
from fgpr.secagg.checked_plan import CheckedPlan, recall
from fgpr.secagg.messages import Plan


class Duties:
    """The steps of rounds for one agent. What it remembers saves work; what safety needs is in the journal.

    Args:
        agent: whose duties.
        source: its rows.
        target: the column of the target, where it has another name than in the model.
        observer: sees each update before it is masked.
        tell: tells the owner.

    Every step raises:
        RequestError, RemoteProtocolError: the aggregator could not be reached or made no sense; the step may be tried
            again.
        OSError: the home cannot be written; nothing of the step was sent.
    """

    def __init__(
        self, agent: Agent, source: Source, target: str | None, observer: Observer | None, tell: Reporter
    ) -> None:
        self._agent = agent
        self._source = source
        self._target = target
        self._observer = observer
        self._tell = tell
        self._prior: PriorRecord | None = None
        self._checked: set[int] = set()
        self._judged: set[bytes] = set()
        self._silent: set[tuple[int, str]] = set()
        self._settled: set[tuple[int, str]] = set()

    def check(self, signed: Signed[Plan]) -> CheckedPlan | None:
        """The plan, if it passes now or passed before; None where it does not, or this client has no part in it."""
        plan, client = signed.message, self._agent.client
        past = self._agent.journal.round(plan.round)
        if past is not None and past.plan == plan:
            if plan.round not in self._checked:
                self._checked.add(plan.round)
                self._tell(Kind.CHECKED, plan.round, "the plan passed every check before this agent was started")
            return recall(past)
        # With its signature: a plan that a stranger signed must not make the aggregator's own one unheard.
        fingerprint = hashlib.sha256(signed.encode()).digest()
        if fingerprint in self._judged:
            return None
        if client not in plan.invited and plan.seat_of(client) is None:
            self._judged.add(fingerprint)
            self._tell(Kind.SKIPPED, plan.round, "this client was not drawn")
            return None
        first = self._agent.journal.last_round == 0
        try:
            checked, self._prior = plan_check.check(self._agent, signed)
        except OwnerConsentRequired as error:
            self._judged.add(fingerprint)
            self._tell(Kind.CONSENT, plan.round, str(error), error)
            return None
        except (PlanRefused, VerificationError) as error:
            self._judged.add(fingerprint)
            self._tell(Kind.REFUSED, plan.round, f"nothing was sent: {error}", error)
            return None
        self._checked.add(plan.round)
        groups = "" if plan.groups == 1 else f" in {plan.groups} groups"
        seats = f"{len(plan.invited)} invited{groups}, {len(plan.seats)} seats, {plan.threshold} openings needed"
        noise = f"; {_first_noise(plan)}" if first else ""
        self._tell(Kind.CHECKED, plan.round, f"the plan passes every check: {seats}{noise}")
        return checked

    def contribute(self, checked: CheckedPlan) -> None:
        """Send the one contribution to a round; train and write it first where that was not done."""
        plan, journal = checked.plan, self._agent.journal
        body = journal.contribution(plan.round)
        text = "what was written before"
        if body is None:
            if self._agent.client not in plan.invited or (plan.round, "contribution") in self._silent:
                return
            if not self._named(checked, "contribution"):
                return
            record = self._prior if self._prior is not None and self._prior.version == plan.prior_version else None
            try:
                made = contribution.make(self._agent, checked, record, self._source, self._target, self._observer)
            except (
                DataError,
                NumericalError,
                CryptographicError,
                EncodingError,
                PlanRefused,
                OwnerConsentRequired,
                LocalProtocolError,
            ) as error:
                self._silent.add((plan.round, "contribution"))
                self._tell(Kind.SKIPPED, plan.round, f"this client contributes nothing: {error}", error)
                return
            body = journal.contribution(plan.round)
            text = made.describe()
        if self._send(plan.round, "contribution", body):
            self._tell(Kind.CONTRIBUTED, plan.round, f"contributed {text}", sent=_size(body))

    def open(self, checked: CheckedPlan) -> None:
        """Send the one opening of a closed round; check its cohort and write it first where that was not done.

        Where boxes do not open, a complaint is sent instead.
        """
        number, journal = checked.plan.round, self._agent.journal
        if checked.plan.seat_of(self._agent.client) is None:
            return
        undecided = journal.opening(number) is None and journal.complaint(number) is None
        if undecided and (number, "opening") not in self._silent and self._named(checked, "opening"):
            try:
                committee_duty.open_round(self._agent, checked)
            except TooLate as error:
                self._tell(Kind.TOO_LATE, number, str(error), error)
                return
            except (CohortRefused, VerificationError) as error:
                self._silent.add((number, "opening"))
                self._tell(Kind.REFUSED, number, f"nothing was opened: {error}", error)
        self.complain(number)
        body = journal.opening(number)
        if self._send(number, "opening", body):
            self._tell(Kind.OPENED, number, "opened the sum of the cohort's masks", sent=_size(body))

    def complain(self, number: int) -> None:
        """Send the complaint of a round where one was written; after the round's end it is evidence still."""
        body = self._agent.journal.complaint(number)
        if self._send(number, "complaint", body):
            self._tell(Kind.COMPLAINED, number, "complained of boxes that do not open", sent=_size(body))

    def void(self, aborted: AbortedRound) -> None:
        """Open the empty cohort of an aborted round, unless another one was opened."""
        number, journal = aborted.plan.message.round, self._agent.journal
        past = journal.round(number)
        if aborted.plan.message.seat_of(self._agent.client) is None or (number, "void") in self._silent:
            return
        if past is None and number <= journal.last_round:
            return
        if past is not None and past.opened is not None and past.opened.members:
            return
        if journal.opening(number) is None:
            checked = self.check(aborted.plan)
            if checked is None or not self._named(checked, "void"):
                return
            try:
                committee_duty.open_empty(self._agent, checked, aborted.cohort)
            except CohortRefused as error:
                self._silent.add((number, "void"))
                self._tell(Kind.REFUSED, number, f"nothing was opened: {error}", error)
                return
        body = journal.opening(number)
        if self._send(number, "opening", body):
            self._tell(Kind.VOIDED, number, "opened the empty cohort of the aborted round", sent=_size(body))

    def _named(self, checked: CheckedPlan, what: str) -> bool:
        """Whether the plan's roster names this client's present key; what it signed before is sent all the same."""
        number = checked.plan.round
        if (number, what) in self._silent or not self._agent.named_by(checked.roster):
            if (number, what) not in self._silent:
                self._silent.add((number, what))
                self._tell(Kind.SKIPPED, number, "this client has another key since; it waits for the next roster")
            return False
        return True

    def _send(self, number: int, what: str, body: bytes | None) -> bool:
        """Send a written body unless that is settled; whether the aggregator has just taken it."""
        if body is None or (number, what) in self._settled:
            return False
        federation, client = self._agent.federation, self._agent.client
        put: dict[str, Callable[[int, str, bytes], Receipt]] = {
            "contribution": federation.contribute,
            "complaint": federation.complain,
            "opening": federation.answer,
        }
        try:
            receipt = put[what](number, client, body)
        except (TooLate, Conflict) as error:
            self._settled.add((number, what))
            kind = Kind.TOO_LATE if isinstance(error, TooLate) else Kind.REFUSED
            self._tell(kind, number, f"the {what} was not taken: {error}", error)
            return False
        if receipt.body != hashlib.sha256(body).digest():
            raise RemoteProtocolError(f"the receipt of round {number} is for another {what} than was sent")
        self._settled.add((number, what))
        return True

    def deliver_key(self, number: int) -> None:
        """Send the opening of a published round: no longer needed, but it carries the next opening key."""
        if self._agent.journal.round(number) is not None:
            self._send(number, "opening", self._agent.journal.opening(number))


def _size(body: bytes | None) -> int:
    return 0 if body is None else len(body)


def _first_noise(plan: Plan) -> str:
    """What an owner learns from the first plan only: later ones have to agree with it, and nothing vouches for it."""
    terms = plan.differential_privacy
    if terms is None:
        return "this first plan adds no noise (differential privacy is off), --noise refuses such plans"
    return f"this first plan adds noise of multiplier {terms.multiplier:g}, later ones may not change it"

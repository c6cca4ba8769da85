"""A member's part in a round's second stage, and after an abort: check the cohort, open it, write which one."""

from client_agent import opening_keys
from client_agent.agent import Agent
from fgpr import merkle
from fgpr.auditlog import entries
from fgpr.errors import CohortRefused
from fgpr.message import Signed
from fgpr.secagg.checked_plan import CheckedPlan
from fgpr.secagg.complaint import complain
from fgpr.secagg.history import History
from fgpr.secagg.log_span import LogSpan, span_start
from fgpr.secagg.member import Member, open_cohort
from fgpr.secagg.messages import Cohort, CohortView
from fgpr.secagg.suites import SUITES, PrivateHalf, private_half

_NO_LEAVES = LogSpan(merkle.Frontier.empty(), ())


def open_round(agent: Agent, checked: CheckedPlan) -> None:
    """Fetch and check the cohort of a closed round, and write its opening to the journal.

    Where signed boxes do not open, and nothing else is wrong, a complaint is written instead.

    Raises:
        CohortRefused: names the check that failed; nothing is opened.
        VerificationError: the cohort's checkpoint is not in the log that this agent follows.
    """
    view = agent.federation.cohort(checked.plan.round)
    cohort = view.cohort.message
    if not cohort.members:
        raise CohortRefused(5, "a round that is not aborted has no empty cohort")
    # Signed first: what nobody signed is not worth its leaves.
    view.cohort.verify(agent.membership.service_key)
    agent.trail.follow(agent.trail.newest())
    history = agent.history()
    kept = history.checkpoint
    if kept is None or cohort.checkpoint.size > kept.size:
        raise CohortRefused(
            6, f"the log is shorter than the {cohort.checkpoint.size} leaves of the cohort's checkpoint"
        )
    span = agent.trail.span(span_start(checked, history), cohort.checkpoint, kept)
    try:
        _answer(agent, checked, view, span, history)
    except CohortRefused as error:
        if error.accused:
            complaint = complain(checked, view, agent.client, agent.identity_key, error.accused)
            agent.journal.write_complaint(checked.plan.round, complaint.encode())
        raise


def open_empty(agent: Agent, checked: CheckedPlan, cohort: Signed[Cohort]) -> None:
    """Write the opening of an aborted round's empty cohort: this member opened and will open no other.

    Raises:
        CohortRefused: the cohort is not empty, or another one of this round was opened.
    """
    if cohort.message.members:
        raise CohortRefused(5, "the cohort of an aborted round is not empty")
    _answer(agent, checked, CohortView(cohort=cohort, entries=()), _NO_LEAVES, agent.history())


def _answer(agent: Agent, checked: CheckedPlan, view: CohortView, span: LogSpan, history: History) -> None:
    federation = agent.membership.federation
    serial = max(history.serials.get(agent.client, 0), *agent.keys.serials(), 0) + 1
    next_key = private_half(agent.random_bytes(SUITES[checked.plan.suite].private_bytes))
    opened = open_cohort(
        checked,
        view,
        span,
        Member(agent.client, agent.identity_key, _seat_key(agent, checked)),
        opening_keys.signed(agent.identity_key, federation, agent.client, serial, next_key),
        service_key=agent.membership.service_key,
        history=history,
        floors=agent.floors,
        revoked_by=lambda leaf: entries.revoked_by(leaf, federation),
        seconds=int(agent.clock().timestamp()),
    )
    # What was read first: without an opening it is only read no more. Then the key: an opening without its next key on
    # disk would leave the next seat deaf.
    if opened.revocations is not None:
        agent.journal.record_revocations(opened.revocations)
    agent.keys.add(serial, next_key)
    agent.journal.write_opening(checked.plan.round, view.cohort, opened.opening.encode())


def _seat_key(agent: Agent, checked: CheckedPlan) -> PrivateHalf | None:
    """The private half of the key in this member's seat, if there is one and it is here."""
    for seat in checked.plan.seats:
        if seat.client == agent.client and seat.key is not None:
            return agent.keys.get(seat.key.message.serial)
    return None

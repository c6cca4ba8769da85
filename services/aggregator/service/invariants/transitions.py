"""Invariants 4 and 17: each stage of a round follows from its leaves by the one transition table, and in time."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from aggregator.service.invariants.evidence import Evidence, Round
from aggregator.service.invariants.invariant import Violation
from fgpr.auditlog.entries import CohortClosed, Leaf, PriorPublished, RoundAborted, RoundPlanned, RoundVoid
from fgpr.errors import IllegalTransition
from fgpr.secagg.stages import Event, Stage, after

GRACE = timedelta(seconds=2)
"""Longer than a tick, and than clocks of replicas may differ."""

_AVERAGES = {"averaged": Event.SUM_OPENED, "kept": Event.STEP_REFUSED, "carried": Event.VOID_TIMED_OUT}


def check_stages(found: Evidence) -> Iterator[Violation]:
    """4: the log, replayed through the transition table, leads to the stage of each round, and to no other rounds."""
    stages: dict[tuple[str, int], Stage] = {}
    for index, leaf in found.logged():
        number = _round_of(leaf)
        if number is None or leaf.federation is None:
            continue
        key = leaf.federation, number
        if isinstance(leaf, RoundPlanned):
            if key in stages:
                yield Violation(4, f"round {number} of {leaf.federation} is planned twice, again by leaf {index}")
            stages[key] = Stage.CONTRIBUTING
            continue
        present = stages.get(key)
        if present is None:
            yield Violation(4, f"leaf {index} moves round {number} of {leaf.federation}, which has no plan before it")
            continue
        try:
            stages[key] = after(present, _event(leaf, present))
        except IllegalTransition as error:
            yield Violation(4, f"leaf {index}, round {number} of {leaf.federation}: {error}")
    for key, round_ in found.rounds.items():
        logged = stages.pop(key, None)
        if logged is None:
            yield Violation(4, f"{round_} has no plan in the log")
        elif logged is not round_.stage:
            yield Violation(4, f"{round_} is in stage {round_.stage.value}; the log leads to {logged.value}")
    for name, number in stages:
        yield Violation(4, f"the log tells of round {number} of {name}, which is not in the database")


def _round_of(leaf: Leaf) -> int | None:
    match leaf:
        case RoundPlanned(plan=plan):
            return plan.message.round
        case CohortClosed(cohort=cohort):
            return cohort.message.round
        case RoundAborted() | RoundVoid():
            return leaf.round
        case PriorPublished(prior=prior):
            return prior.message.round
    return None


def _event(leaf: Leaf, present: Stage) -> Event:
    match leaf:
        case CohortClosed():
            return Event.CLOSED
        case RoundAborted():
            # The leaf does not say which of the two reasons of an opening round it was; both lead to one stage.
            return Event.TOO_FEW_CONTRIBUTIONS if present is Stage.CONTRIBUTING else Event.TOO_FEW_OPENINGS
        case PriorPublished(prior=prior):
            return _AVERAGES.get(prior.message.reason, Event.SUM_OPENED)
    return Event.VOID_PROVEN


def check_ends(found: Evidence) -> Iterator[Violation]:
    """17: no stage, and no aborted round that keeps the next one waiting, is past its deadline and a tick."""
    for round_ in found.rounds.values():
        due = _due(found, round_)
        if due is not None and found.now > due + GRACE:
            late = round((found.now - due).total_seconds())
            yield Violation(17, f"{round_} is in stage {round_.stage.value}, {late} s past its deadline")


def _due(found: Evidence, round_: Round) -> datetime | None:
    if round_.stage is Stage.CONTRIBUTING:
        return round_.contribute_until
    if round_.stage is Stage.OPENING:
        return round_.open_until
    settings = found.settings.get(round_.federation)
    if round_.stage is not Stage.ABORTED or not round_.contributions or settings is None:
        return None
    return (round_.ended_at or round_.open_until) + timedelta(seconds=settings.rounds.open_seconds)

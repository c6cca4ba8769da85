"""THE transition table of a round. Nothing else may change a stage.

    CONTRIBUTING --closed--------------> OPENING --sum_opened-------> PUBLISHED
         |                                  |
         |                                  +--step_refused---------------------------------------------+
         +--too_few_contributions--+        +--too_few_openings--+                                      |
                                   |        +--sum_refused-------+                                      |
                                   v                             v                                      |
                                ABORTED <------------------------+                                      |
                                   |--void_proven---> VOID      the same prior serves the next round    |
                                   +--void_timed_out> CARRIED   the old theta becomes a new version <---+

An aborted round settles later: VOID when enough members have proven that no cohort of its plan was or will be opened,
CARRIED when they could not be had in time. A round to which nobody contributed may stay ABORTED. A round that was
opened and whose average leaves the trust region is CARRIED at once.
This file does not know who asks; client and aggregator are judged by the same table.
"""

from enum import StrEnum

from fgpr.errors import IllegalTransition


class Stage(StrEnum):
    """Where a round is."""

    CONTRIBUTING = "contributing"
    OPENING = "opening"
    PUBLISHED = "published"
    ABORTED = "aborted"
    VOID = "void"
    CARRIED = "carried"


class Event(StrEnum):
    """What can happen to a round."""

    CLOSED = "closed"
    TOO_FEW_CONTRIBUTIONS = "too_few_contributions"
    SUM_OPENED = "sum_opened"
    TOO_FEW_OPENINGS = "too_few_openings"
    SUM_REFUSED = "sum_refused"
    STEP_REFUSED = "step_refused"
    VOID_PROVEN = "void_proven"
    VOID_TIMED_OUT = "void_timed_out"


TRANSITIONS: dict[tuple[Stage, Event], Stage] = {
    (Stage.CONTRIBUTING, Event.CLOSED): Stage.OPENING,
    (Stage.CONTRIBUTING, Event.TOO_FEW_CONTRIBUTIONS): Stage.ABORTED,
    (Stage.OPENING, Event.SUM_OPENED): Stage.PUBLISHED,
    (Stage.OPENING, Event.TOO_FEW_OPENINGS): Stage.ABORTED,
    (Stage.OPENING, Event.SUM_REFUSED): Stage.ABORTED,
    (Stage.OPENING, Event.STEP_REFUSED): Stage.CARRIED,
    (Stage.ABORTED, Event.VOID_PROVEN): Stage.VOID,
    (Stage.ABORTED, Event.VOID_TIMED_OUT): Stage.CARRIED,
}

RUNNING = frozenset({Stage.CONTRIBUTING, Stage.OPENING})
"""The stages in which a round waits for its clients."""

FAILED = frozenset({Stage.ABORTED, Stage.VOID, Stage.CARRIED})
"""The stages of a round that published nothing of its own."""


def after(stage: Stage, event: Event) -> Stage:
    """The stage that follows.

    Raises:
        IllegalTransition: `stage` does not know `event`.
    """
    try:
        return TRANSITIONS[stage, event]
    except KeyError:
        known = sorted(known.value for at, known in TRANSITIONS if at is stage)
        raise IllegalTransition(
            f"a round in stage {stage.value} does not know {event.value}; it knows {', '.join(known) or 'nothing'}"
        ) from None

from itertools import product

import pytest

from fgpr.errors import IllegalTransition
from fgpr.secagg.stages import FAILED, RUNNING, TRANSITIONS, Event, Stage, after

# docs/protocol.md, One round: the table as prose, written down a second time.
LEGAL = {
    ("contributing", "closed"): "opening",
    ("contributing", "too_few_contributions"): "aborted",
    ("opening", "sum_opened"): "published",
    ("opening", "too_few_openings"): "aborted",
    ("opening", "sum_refused"): "aborted",
    ("opening", "step_refused"): "carried",
    ("aborted", "void_proven"): "void",
    ("aborted", "void_timed_out"): "carried",
}


@pytest.mark.parametrize(("stage", "event"), list(product(Stage, Event)))
def test_every_pair_of_stage_and_event(stage: Stage, event: Event) -> None:
    expected = LEGAL.get((stage.value, event.value))
    if expected is None:
        with pytest.raises(IllegalTransition, match=f"stage {stage.value} does not know {event.value}"):
            after(stage, event)
    else:
        assert after(stage, event) is Stage(expected)


def test_an_ended_round_stays_ended() -> None:
    leaving = {stage for stage, _ in TRANSITIONS}
    assert set(Stage) - leaving == {Stage.PUBLISHED, Stage.VOID, Stage.CARRIED}
    with pytest.raises(IllegalTransition, match="it knows nothing"):
        after(Stage.PUBLISHED, Event.SUM_OPENED)


def test_every_round_can_end_and_none_is_published_twice() -> None:
    paths = [[Stage.CONTRIBUTING]]
    ended = []
    while paths:
        path = paths.pop()
        onward = [to for (at, _), to in TRANSITIONS.items() if at is path[-1]]
        ended += [] if onward else [path]
        paths += [[*path, to] for to in onward]
        assert len(path) == len(set(path)), "a stage comes back"
    assert {path[-1] for path in ended} == {Stage.PUBLISHED, Stage.VOID, Stage.CARRIED}


def test_a_stage_runs_failed_or_published() -> None:
    assert RUNNING | FAILED | {Stage.PUBLISHED} == set(Stage)
    assert not RUNNING & FAILED

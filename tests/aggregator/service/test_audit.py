from collections import Counter

import pytest

from aggregator.service import audit, enrolment
from fgpr import merkle
from fgpr.auditlog import checkpoint
from fgpr.auditlog.entries import Revoked, RosterSigned
from fgpr.errors import UnknownResource
from fgpr.secagg.stages import TRANSITIONS, Event, Stage, after
from support.aggregator import Aggregator
from support.client import NAME

LEAF_OF = {
    Event.CLOSED: "cohort",
    Event.TOO_FEW_CONTRIBUTIONS: "aborted",
    Event.SUM_OPENED: "prior",
    Event.TOO_FEW_OPENINGS: "aborted",
    Event.SUM_REFUSED: "aborted",
    Event.VOID_PROVEN: "void",
    Event.VOID_TIMED_OUT: "prior",
}


def whole_run(aggregator: Aggregator) -> list[tuple[int, list[Event], Stage]]:
    """Rounds that take every path but a refused sum, each with what happened to it."""
    parties = aggregator.enrol(4)
    aggregator.advance()
    # 1: nobody came.
    aggregator.pass_contributing()
    # 2: published.
    for party in parties:
        party.contribute()
    for party in parties:
        party.open()
    # 3: void.
    for party in parties:
        party.contribute()
    aggregator.pass_contributing()
    aggregator.pass_opening()
    for party in parties:
        party.open_nothing(3)
    # 4: carried.
    for party in parties:
        party.contribute()
    aggregator.pass_contributing()
    aggregator.pass_opening()
    aggregator.pass_opening()
    # 5: running.
    enrolment.revoke(aggregator.context, NAME, "client-03")
    return [
        (1, [Event.TOO_FEW_CONTRIBUTIONS], Stage.ABORTED),
        (2, [Event.CLOSED, Event.SUM_OPENED], Stage.PUBLISHED),
        (3, [Event.CLOSED, Event.TOO_FEW_OPENINGS, Event.VOID_PROVEN], Stage.VOID),
        (4, [Event.CLOSED, Event.TOO_FEW_OPENINGS, Event.VOID_TIMED_OUT], Stage.CARRIED),
        (5, [], Stage.CONTRIBUTING),
    ]


def test_each_transition_has_exactly_one_leaf(aggregator: Aggregator) -> None:
    story = whole_run(aggregator)
    expected = ["prior", "roster"]
    for number, events, last in story:
        stage = Stage.CONTRIBUTING
        expected.append("plan")
        for event in events:
            assert (stage, event) in TRANSITIONS
            stage = after(stage, event)
            expected.append(LEAF_OF[event])
        assert stage is last is aggregator.round(number).stage
    assert aggregator.steps() == [*expected, "revoked"]
    kinds = Counter(aggregator.kinds())
    assert kinds["federation"] == 1
    assert kinds["ticket"] == kinds["enrolled"] == 4
    assert kinds["opening-key"] == len(aggregator.dump()["opening_keys"])


def test_a_roster_s_flags_are_true_up_to_the_checkpoint_that_it_names(aggregator: Aggregator) -> None:
    aggregator.enrol(5)
    aggregator.advance()
    enrolment.revoke(aggregator.context, NAME, "client-03")
    aggregator.pass_contributing()
    raw, gone, found = aggregator.raw_leaves(), set(), 0
    for index, leaf in enumerate(aggregator.leaves()):
        if isinstance(leaf, Revoked):
            gone.add(leaf.client)
        if isinstance(leaf, RosterSigned):
            found += 1
            roster = leaf.roster.message
            assert {line.client for line in roster.clients if line.revoked} == gone
            assert roster.checkpoint.size == index
            assert roster.checkpoint.root == merkle.root([merkle.leaf_hash(before) for before in raw[:index]])
    assert (found, gone) == (2, {"client-03"})


def test_the_checkpoint_is_of_all_leaves(aggregator: Aggregator) -> None:
    whole_run(aggregator)
    leaves = aggregator.raw_leaves()
    with aggregator.context.database.read() as connection:
        note = audit.newest(aggregator.context, connection).note
    key = aggregator.context.service_public()
    now = checkpoint.open_note(note, checkpoint.name_of(key), key)
    assert (now.size, now.root) == (len(leaves), merkle.root([merkle.leaf_hash(leaf) for leaf in leaves]))
    assert audit.log_name(aggregator.context) == now.origin


def test_a_leaf_is_found_by_its_index(aggregator: Aggregator) -> None:
    leaves = aggregator.raw_leaves()
    with aggregator.context.database.read() as connection:
        assert audit.leaf(connection, 0) == leaves[0]
        with pytest.raises(UnknownResource, match=f"no leaf {len(leaves)}"):
            audit.leaf(connection, len(leaves))


def test_several_leaves_go_in_at_once(aggregator: Aggregator) -> None:
    before = aggregator.raw_leaves()
    leaves = [Revoked(federation=NAME, client=f"client-{number}", by="operator") for number in range(3)]
    with aggregator.context.database.write() as connection:
        assert audit.record(aggregator.context, connection, leaves) == len(before)
        assert audit.position(connection).size == len(before) + 3
    assert aggregator.raw_leaves() == [*before, *(leaf.encode() for leaf in leaves)]

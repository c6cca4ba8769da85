"""A federation with a client whose boxes do not open still publishes; nobody is convicted by x liars."""

from collections.abc import Iterable

import numpy as np
import pytest

from fgpr.auditlog import entries
from fgpr.errors import CohortRefused, VerificationError
from fgpr.secagg.stages import Event, Stage
from support.client import NAME
from support.federation import Federation
from support.malice import with_box

LIAR = "client-02"
VALUES = np.array([0.5, -0.5, 1.0])


def closed(made: Federation, seats: Iterable[int]) -> Federation:
    """A round in which the liar, where it is invited, seals garbage for these seats."""
    made.plan()
    for name in made.now.plan.message.invited:
        if name in made.revoked:
            continue
        made.contribute(name, VALUES if name != LIAR else np.array([1.0, 0.0, 0.0]), 3)
        if name == LIAR:
            for seat in seats:
                sent = made.now.contributions[name]
                garbage = bytes(len(sent.boxes[seat - 1]))
                made.receive(with_box(sent, seat, garbage, made.clients[name].identity_key))
    made.close()
    return made


def answer(made: Federation, seats: Iterable[int]) -> None:
    """Everybody but the liar: whose box is garbage complains, the others open."""
    for seat, name in enumerate(made.names, start=1):
        if name in made.revoked or name == LIAR:
            continue
        if seat in seats:
            made.complain(name)
        else:
            made.open(name)


def federation(size: int) -> Federation:
    """One whose log can be verified whole."""
    return Federation(size, logs_all=True)


def check_log(made: Federation) -> set[tuple[str, str]]:
    return set(made.verified().revoked)


def renew_roster(made: Federation) -> None:
    made.sign_roster(made.roster.message.version + 1)


def test_garbage_for_everybody_is_void_and_the_liar_is_left_out_of_the_next_plan() -> None:
    made = closed(federation(6), range(1, 7))
    answer(made, range(1, 7))
    assert made.revoked == {LIAR}
    assert entries.Convicted(federation=NAME, client=LIAR, round=1).encode() in made.log.leaves
    made.abort(Event.TOO_FEW_OPENINGS)
    # A complaint is no opening: everybody who complained still proves the round void.
    for name in made.names:
        if name != LIAR:
            made.open(name)
    assert made.settle() is Stage.VOID
    renew_roster(made)
    closed(made, ())
    plan = made.now.plan.message
    assert LIAR not in plan.invited
    assert plan.seat_of(LIAR) is None
    answer(made, ())
    np.testing.assert_allclose(made.finish().theta, VALUES, atol=1e-8)
    assert check_log(made) == {(NAME, LIAR)}


def test_garbage_for_two_is_complained_of_and_the_round_publishes_all_the_same() -> None:
    # Eight seats, x = 1, t = 6: two can be missed.
    made = closed(federation(8), (4, 5))
    answer(made, (4, 5))
    made.open(LIAR)
    assert made.revoked == {LIAR}
    made.finish()
    assert made.prior.version == 1
    renew_roster(made)
    closed(made, ())
    assert LIAR not in made.now.plan.message.invited
    answer(made, ())
    np.testing.assert_allclose(made.finish().theta, VALUES, atol=1e-8)


def test_garbage_for_just_as_many_as_stop_a_round_leads_over_a_carry_to_a_prior() -> None:
    # t = 6 of 8: three complain, four open, so neither the cohort nor the void proof gets six.
    made = closed(federation(8), (4, 5, 6))
    answer(made, (4, 5, 6))
    assert made.revoked == {LIAR}
    made.abort(Event.TOO_FEW_OPENINGS)
    for name in made.names[3:6]:
        made.open(name)
    for name in made.names[:2] + made.names[6:]:
        with pytest.raises(CohortRefused):
            made.open(name)
    assert made.settle() is Stage.CARRIED
    # The roster stays while its theta is carried: the liar is invited and not counted, nor are two more (K + 2 = 3).
    closed(made, ())
    cohort = made.now.cohort
    assert cohort is not None
    assert LIAR in made.now.plan.message.invited
    assert LIAR not in cohort.message.clients()
    assert len(cohort.message.members) == 5
    answer(made, ())
    np.testing.assert_allclose(made.finish().theta, VALUES, atol=1e-8)


def test_x_complaints_convict_nobody() -> None:
    made = closed(federation(8), (4,))
    answer(made, (4,))
    assert made.revoked == set()
    np.testing.assert_allclose(made.finish().theta, (7 * VALUES + [1, 0, 0]) / 8, atol=1e-8)
    made.log.append(entries.Convicted(federation=NAME, client=LIAR, round=1))
    with pytest.raises(VerificationError, match="do not convict"):
        check_log(made)


def test_who_complained_is_asked_again_and_complains_again() -> None:
    made = closed(federation(6), (4,))
    first = made.complain("client-03")
    made.clients["client-03"] = made.clients["client-03"].restarted()
    assert made.complain("client-03") == first
    assert made.clients["client-03"].history().rounds[-1].opened is None


@pytest.mark.parametrize("kept", [0, 1])
def test_a_conviction_without_its_complaints_does_not_pass_an_audit(kept: int) -> None:
    made = closed(federation(6), range(1, 7))
    answer(made, range(1, 7))
    filed = [leaf for leaf in made.log.leaves if b'"kind":"complaint"' in leaf]
    made.log.leaves = [leaf for leaf in made.log.leaves if leaf not in filed[kept:]]
    with pytest.raises(VerificationError, match="do not convict client-02"):
        check_log(made)

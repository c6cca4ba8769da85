import dataclasses

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr import merkle
from fgpr.errors import CohortRefused
from fgpr.secagg.history import PastRound
from fgpr.secagg.log_span import LogSpan
from fgpr.secagg.member import check_difference
from support.cohort_case import ME, case

STRANGER = Ed25519PrivateKey.from_private_bytes(bytes([9]) * 32)


def test_an_honest_cohort_is_answered_with_the_sum_of_the_shares() -> None:
    made = case()
    answer = made.open().opening
    answer.verify(made.federation.clients[ME].public_key())
    assert answer.message.cohort == made.view.cohort.message.digest()
    assert len(answer.message.sum) == 32
    assert answer.message.next_key.message.serial == 2


def test_the_empty_cohort_is_answered_with_zeros_without_key_log_or_boxes() -> None:
    made = case()
    made.recount(members=())
    made.member = dataclasses.replace(made.member, opening_key=None)
    made.span = LogSpan(merkle.Frontier.empty(), ())
    made.remember(last_round=7)
    answer = made.open().opening.message
    assert answer.sum == bytes(32)
    assert answer.cohort == made.view.cohort.message.digest()


def test_a_member_shows_no_keys() -> None:
    made = case()
    assert made.member.opening_key is not None
    shown = repr(made.member)
    assert "PrivateKey" not in shown
    assert made.member.opening_key.private_bytes_raw().hex() not in shown


def test_a_cohort_of_those_who_are_left_is_answered() -> None:
    made = case()
    made.count("client-00", "client-02", "client-04")
    made.open().opening.verify(made.federation.clients[ME].public_key())


def test_who_was_revoked_and_is_not_counted_is_no_reason_to_refuse() -> None:
    made = case()
    made.federation.revoke("client-04")
    made.count("client-00", "client-01", "client-02")
    made.recount(checkpoint=made.federation.log.position())
    made.read()
    opened = made.open()
    assert opened.revocations is not None
    assert opened.revocations.clients == {"client-04"}


def test_in_a_seat_that_was_left_empty_a_member_stays_silent_whatever_key_it_holds() -> None:
    made = case()
    seats = tuple(
        seat.model_copy(update={"key": None}) if seat.client == ME else seat for seat in made.checked.plan.seats
    )
    plan = made.checked.plan.model_copy(update={"seats": seats})
    made.checked = dataclasses.replace(made.checked, plan=plan, digest=plan.digest())
    made.remember(rounds=(PastRound(plan, made.checked.roster),))
    made.recount(plan=plan.digest())
    with pytest.raises(CohortRefused, match="stay silent") as refused:
        made.open()
    assert refused.value.check == 1


def test_the_log_may_have_grown_since_the_cohort() -> None:
    made = case()
    made.federation.revoke("client-04")
    made.remember(checkpoint=made.federation.log.position())
    made.read()
    assert made.span.since_cohort
    made.open()
    made.span = dataclasses.replace(made.span, since_cohort=())
    with pytest.raises(CohortRefused, match="too few hashes"):
        made.open()


def test_the_same_cohort_may_be_asked_for_again() -> None:
    made = case()
    made.remember(rounds=(dataclasses.replace(made.history.rounds[0], opened=made.view.cohort.message),))
    assert made.open().opening.message.cohort == made.view.cohort.message.digest()


A, B, C, D, E, F = "abcdef"


@pytest.mark.parametrize(
    ("cohort", "other", "passes"),
    [
        ({A, B, C}, {A, B, C}, True),
        ({A, B, C}, {D, E, F}, True),
        ({A, B, C}, {A, B, C, D, E, F}, True),
        ({A, B, C, D, E, F}, {A, B, C}, True),
        ({A, B, C}, {A, B, C, D}, False),
        ({A, B, C, D}, {A, B, C}, False),
        ({A, B, C}, {A, B, C, D, E}, False),
        ({A, B, C}, {B, C, D}, False),
        ({A, B, C, F}, {D, E, F}, False),
    ],
)
def test_a_difference_has_enough_clients_on_each_side_or_none(cohort: set[str], other: set[str], passes: bool) -> None:
    if passes:
        check_difference(frozenset(cohort), frozenset(other), 3)
    else:
        with pytest.raises(CohortRefused) as refused:
            check_difference(frozenset(cohort), frozenset(other), 3)
        assert refused.value.check == 10


def test_the_larger_k_of_two_rounds_counts() -> None:
    # Twelve clients, gamma 0.2: K = 2, four are enough. The earlier round assumed a third of them corrupt: K = 4.
    made = case(12)
    before = made.checked.plan.model_copy(update={"round": 0, "gamma": 0.34, "min_cohort": 6, "delta": 0.2})
    opened = made.federation.cohort_of(made.federation.names).message
    made.remember(rounds=(PastRound(before, made.checked.roster, opened=opened), *made.history.rounds))
    made.count(*made.federation.names[:8])
    with pytest.raises(CohortRefused, match="by 4 client"):
        made.open()
    made.count(*made.federation.names[:6])
    made.open()

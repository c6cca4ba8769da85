"""What plans in the log may not say: each test breaks one check, and the keeper signs it."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from fgpr.auditlog.entries import RosterSigned
from fgpr.message import Signed
from fgpr.secagg.messages import Cohort, LogPosition, Seat
from fgpr.secagg.roster import Roster
from support.client import NAME
from support.federation import Federation
from support.forged_log import READERS_KEY, ForgedLog, cohort_of, elsewhere, plan_of, played, state, without

Forge = Callable[[ForgedLog], int]


@cache
def _made() -> Federation:
    return played()


@pytest.fixture
def log() -> ForgedLog:
    return ForgedLog(_made())


def in_a_federation(name: str) -> Forge:
    return lambda log: log.insert(log.find("plan"), state(name)) + 1


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (lambda log: log.change_document("plan", federation="bridges"), "the plan is one of bridges"),
        (lambda log: log.change_document("plan", key=READERS_KEY), "the signature under 'fgpr-v1/plan'"),
        (in_a_federation("paused"), "round 1 opens in a federation that is paused"),
        (in_a_federation("closed"), "round 1 opens in a federation that is closed"),
        (lambda log: log.change_document("plan", round=2), "round 2 follows round 0"),
        (lambda log: log.append(log.leaf("plan")), "round 1 follows round 4"),
        (lambda log: without(log, "prior", 1, "plan", 1), "round 2 opens while round 1 runs"),
        (lambda log: log.change_document("plan", prior_version=1), "round 1 does not start from the newest prior"),
        (lambda log: log.change_document("plan", 3, theta_version=0), "round 4 does not start from the newest prior"),
        (lambda log: log.change_document("plan", prior_digest=bytes(32)), "round 1 does not start from the newest"),
        (lambda log: log.change_document("plan", roster_version=2), "round 1 names a roster that is not here"),
        (lambda log: log.change_document("plan", roster_digest=bytes(32)), "round 1 names a roster that is not here"),
        (
            lambda log: log.change_document("plan", checkpoint=elsewhere(plan_of(log).checkpoint)),
            "its checkpoint of 18 leaves is not one of this log",
        ),
        (
            lambda log: log.change_document("plan", checkpoint=LogPosition(size=19, root=bytes(32))),
            "its checkpoint of 19 leaves is not between 0 and 18",
        ),
    ],
)
def test_what_a_plan_may_not_say(log: ForgedLog, forge: Forge, reason: str) -> None:
    log.refuses(forge(log), reason)


def another_roster(log: ForgedLog, nth: int) -> int:
    """Roster 2 comes into force right before a plan; the place of that plan."""
    first = log.leaf("roster").roster.message
    second = Signed[Roster].make(log.made.roster_key, first.model_copy(update={"version": 2, "nonce": bytes(32)}))
    return log.insert(log.find("plan", nth), RosterSigned(federation=NAME, roster=second)) + 1


def of_roster_2(log: ForgedLog, nth: int) -> int:
    return log.change_document(
        "plan", nth, roster_version=2, roster_digest=log.leaf("roster", 1).roster.message.digest()
    )


def test_a_plan_draws_from_the_newest_roster(log: ForgedLog) -> None:
    log.refuses(another_roster(log, 0), "round 1 draws from roster 1, and roster 2 is in force")


def test_a_carried_theta_stays_with_its_roster_until_it_is_released(log: ForgedLog) -> None:
    another_roster(log, 3)
    log.refuses(of_roster_2(log, 3), "round 4 draws from roster 2, and roster 1 is in force")
    log.insert(log.find("plan", 3), state("released"))
    # The plan holds now, and is another one than that of the cohort that was closed.
    log.refuses(log.find("plan", 3) + 1, "the cohort is not of the plan of round 4")
    log.refuses(log.change_document("plan", 3, **first_roster(log)), "round 4 draws from roster 1, and roster 2 is in")


def first_roster(log: ForgedLog) -> dict[str, Any]:
    return {"roster_version": 1, "roster_digest": log.leaf("roster").roster.message.digest()}


def test_only_a_carried_theta_is_released(log: ForgedLog) -> None:
    log.refuses(log.append(state("released")), "a theta is released from its roster that was not carried")


def seats(log: ForgedLog, nth: int = 0, **fields: Any) -> dict[str, Any]:
    """The seats of a plan, the first one's key with other fields, signed by its client."""
    found = list(plan_of(log, nth).seats)
    signed = type(found[0].key).make(
        log.made.clients[found[0].client].identity_key, found[0].key.message.model_copy(update=fields)
    )
    return {"seats": (Seat(client=found[0].client, key=signed), *found[1:])}


def resealed(log: ForgedLog) -> int:
    """The registered key in the first seat, signed by somebody else."""
    found = list(plan_of(log).seats)
    signed = type(found[0].key).make(READERS_KEY, found[0].key.message)
    return log.change_document("plan", seats=(Seat(client=found[0].client, key=signed), *found[1:]))


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (
            lambda log: log.change_document("plan", **seats(log, key=bytes([9]) * 32)),
            "the opening key in client-00's seat was never registered",
        ),
        (
            lambda log: log.change_document("plan", **seats(log, serial=2)),
            "the opening key in client-00's seat was never registered",
        ),
        (resealed, "the signature under 'fgpr-v1/opening-key'"),
    ],
)
def test_keys_in_seats_are_registered_and_their_clients_own(log: ForgedLog, forge: Forge, reason: str) -> None:
    log.refuses(forge(log), reason)


@pytest.mark.parametrize(
    "fields",
    [
        {"threshold": 3},
        {"min_cohort": 4},
        {"gamma": 0.3},
        {"spare": 2},
        {"committee_cap": 7},
        {"invited": ("client-00", "client-01", "client-02", "client-03")},
        {"training": {}},
        {"codec": {}},
        {"weighting": "uniform"},
        {"largest_step": 2.0},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_plan_is_what_settings_and_roster_make_of_it(log: ForgedLog, fields: dict[str, Any]) -> None:
    place = log.change_document("plan", **fields)
    log.refuses(place, f"round 1 is not planned by the settings and the roster: {next(iter(fields))}")


def test_seats_are_the_drawn_ones(log: ForgedLog) -> None:
    found = plan_of(log).seats
    for other in (found[::-1], found[:-1]):
        place = log.change_document("plan", seats=other)
        log.refuses(place, "round 1 is not planned by the settings and the roster: seats")


def proof_of(log: ForgedLog) -> Any:
    (proof,) = plan_of(log, 2).void
    return proof


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (lambda log: log.change_document("plan", 2, void=()), "round 3 proves other rounds void than those that are"),
        (lambda log: log.change_document("plan", void=(proof_of(log),)), "round 1 proves other rounds void"),
        (lambda log: log.change_document("plan", 3, void=(proof_of(log),)), "round 4 proves other rounds void"),
        (
            lambda log: log.change_document(
                "plan", 2, void=(proof_of(log).model_copy(update={"openings": proof_of(log).openings[:4]}),)
            ),
            "round 3 has a void proof that is not the logged one",
        ),
        (
            lambda log: log.change_document(
                "plan", 2, void=(proof_of(log).model_copy(update={"cohort": log.leaf("aborted", 1).cohort}),)
            ),
            "round 3 proves other rounds void",
        ),
        (
            lambda log: log.change_document(
                "plan",
                2,
                void=(
                    proof_of(log).model_copy(
                        update={"cohort": Signed[Cohort].make(READERS_KEY, cohort_of(log, "aborted"))}
                    ),
                ),
            ),
            "round 3 has a void proof that is not the logged one",
        ),
    ],
)
def test_void_proofs_are_the_logged_ones(log: ForgedLog, forge: Forge, reason: str) -> None:
    log.refuses(forge(log), reason)

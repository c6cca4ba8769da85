"""What leaves about rounds may not say: each test breaks one check, and the keeper signs it."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from fgpr.auditlog import entries
from fgpr.message import Signed
from fgpr.secagg.messages import Complaint, LogPosition
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.stages import Event
from support.client import NAME
from support.federation import Federation
from support.forged_log import READERS_KEY, ForgedLog, cohort_of, elsewhere, plan_of, played, without
from support.malice import with_box

LIAR = "client-02"
Forge = Callable[[ForgedLog], int]


@cache
def _made() -> Federation:
    return played()


@cache
def _complained() -> Federation:
    """Two of five members complain of a liar, one more than may be corrupt: it is convicted."""
    made = Federation(5, logs_all=True)
    made.plan()
    for name in made.names:
        made.contribute(name, np.zeros(3), 3)
    for seat in (1, 2):
        sent = made.now.contributions[LIAR]
        made.receive(with_box(sent, seat, bytes(len(sent.boxes[seat - 1])), made.clients[LIAR].identity_key))
    made.close()
    for name in made.names[:2]:
        made.complain(name)
    return made


@pytest.fixture
def log() -> ForgedLog:
    return ForgedLog(_made())


def members(log: ForgedLog, *order: int) -> dict[str, Any]:
    found = cohort_of(log).members
    return {"members": tuple(found[place] for place in order)}


def revoked_before_closing(log: ForgedLog) -> int:
    """A revocation between plan and cohort, and a cohort that names the checkpoint from before it."""
    place = log.find("cohort")
    log.insert(place, entries.Revoked(federation=NAME, client="client-04", by="operator"))
    return place + 1


def revoked_meanwhile(log: ForgedLog) -> int:
    """The second cohort counts nobody who was revoked; it counts client-04 here, who was."""
    last = log.leaf("cohort", 1).cohort.message
    stranger = cohort_of(log).members[4]
    return log.change_document("cohort", 1, members=(*last.members, stranger))


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (lambda log: without(log, "plan", 0, "cohort", 0), "round 1 of engines was never planned"),
        (lambda log: log.change_document("cohort", key=READERS_KEY), "the signature under 'fgpr-v1/cohort'"),
        (lambda log: log.change_document("cohort", federation="bridges"), "the cohort is not of the plan of round 1"),
        (lambda log: log.change_document("cohort", plan=bytes(32)), "the cohort is not of the plan of round 1"),
        (
            lambda log: log.change_document("cohort", checkpoint=elsewhere(cohort_of(log).checkpoint)),
            "its checkpoint of 19 leaves is not one of this log",
        ),
        (
            lambda log: log.change_document("cohort", checkpoint=LogPosition(size=17, root=bytes(32))),
            "its checkpoint of 17 leaves is not between 18 and 19",
        ),
        (lambda log: log.change_document("cohort", **members(log, 0, 0, 1, 2)), "the cohort counts a client twice"),
        (
            lambda log: log.change_document("cohort", **members(log, 1, 0, 2)),
            "the cohort counts a client twice, or out",
        ),
        (
            lambda log: log.change_document(
                "cohort",
                members=(*cohort_of(log).members, cohort_of(log).members[0].model_copy(update={"client": "stranger"})),
            ),
            "the cohort counts stranger, not invited",
        ),
        (revoked_meanwhile, "the cohort counts client-04, revoked before it was closed"),
        (revoked_before_closing, "the cohort counts client-04, revoked before it was closed"),
        (
            lambda log: log.change_document("cohort", **members(log, 0, 1)),
            "the cohort counts 2 clients together, and 3",
        ),
        (lambda log: log.change_document("cohort", members=()), "the cohort counts 0 clients together, and 3"),
        (
            lambda log: log.insert(log.find("prior", 1) + 1, log.leaf("cohort")),
            "a round in stage published does not know closed",
        ),
    ],
)
def test_what_a_cohort_may_not_say(log: ForgedLog, forge: Forge, reason: str) -> None:
    log.refuses(forge(log), reason)


def test_two_cohorts_of_one_theta_differ_by_nobody_or_by_enough() -> None:
    made = Federation(6, logs_all=True)
    for ends in (Event.TOO_FEW_OPENINGS, None):
        made.plan()
        for name in made.names:
            made.contribute(name, np.zeros(3))
        made.close()
        if ends is not None:
            made.abort(ends)
            made.settle()
    log = ForgedLog(made)
    log.verify()
    least = plan_of(log).min_cohort
    for left_out in range(1, least):
        place = log.change_document("cohort", 1, **members(log, *range(6 - left_out)))
        few = 6 - left_out < least
        log.refuses(
            place, "the cohort counts" if few else f".* differ by {left_out} client.*; at least {least} or none"
        )
    place = log.change_document("cohort", 1, **members(log, *range(6 - least)))
    log.verify()


def test_enough_groups_are_counted() -> None:
    made = Federation(25, AggregationRules(gamma=0.08, groups=5, combine="median"), logs_all=True)
    for client in made.clients.values():
        client.floors = type(client.floors)(gamma=0.08)
    made.plan()
    for name in made.names:
        made.contribute(name, np.zeros(3))
    made.close()
    log = ForgedLog(made)
    log.verify()
    first, second, third = plan_of(log).parts(made.names)[:3]
    few = tuple(member for member in cohort_of(log).members if member.client not in (*first, *second, *third))
    log.refuses(log.change_document("cohort", members=few), "the cohort counts 2 of 5 groups")
    part = tuple(member for member in cohort_of(ForgedLog(made)).members if member.client not in first[1:])
    log.refuses(log.change_document("cohort", members=part), "the cohort counts 1 clients together, and ")


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (lambda log: without(log, "plan", 1, "aborted", 0), "round 2 of engines was never planned"),
        (lambda log: log.change_document("aborted", key=READERS_KEY), "the signature under 'fgpr-v1/cohort'"),
        (lambda log: log.change("aborted", round=1), "the cohort is not of the plan of round 1"),
        (lambda log: log.change_document("aborted", plan=bytes(32)), "the cohort is not of the plan of round 2"),
        (
            lambda log: log.change_document("aborted", checkpoint=elsewhere(cohort_of(log, "aborted").checkpoint)),
            "its checkpoint of 27 leaves is not one of this log",
        ),
        (
            lambda log: log.change_document("aborted", checkpoint=LogPosition(size=25, root=bytes(32))),
            "its checkpoint of 25 leaves is not between 26 and 27",
        ),
        (lambda log: log.change_document("aborted", **members(log, 0)), "an aborted round has a cohort of clients"),
        (lambda log: log.append(log.leaf("aborted")), "a round in stage void does not know too_few_openings"),
    ],
)
def test_what_an_abort_may_not_say(log: ForgedLog, forge: Forge, reason: str) -> None:
    log.refuses(forge(log), reason)


def answers(log: ForgedLog, *order: int) -> dict[str, Any]:
    found = log.leaf("void").openings
    return {"openings": tuple(found[place] for place in order)}


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (lambda log: log.change("void", round=9), "round 9 of engines was never planned"),
        (lambda log: log.change("void", **answers(log, 0, 1, 2, 3, 3)), "a member opened twice"),
        (
            lambda log: log.change(
                "void",
                openings=(
                    *log.leaf("void").openings,
                    log.leaf("void").openings[0].model_copy(update={"client": "stranger"}),
                ),
            ),
            "stranger opened without a seat",
        ),
        (lambda log: log.change("void", **answers(log, 0, 1, 2)), "3 openings, and 4 are needed"),
        (
            lambda log: log.change(
                "void",
                openings=tuple(one.model_copy(update={"cosignature": bytes(72)}) for one in log.leaf("void").openings),
            ),
            "client-00, .*client-04 cosigned a checkpoint with the empty cohort",
        ),
        (lambda log: log.append(log.leaf("void")), "a round in stage void does not know void_proven"),
        (lambda log: log.change("void", round=1), "a round in stage published does not know void_proven"),
    ],
)
def test_what_a_void_round_needs(log: ForgedLog, forge: Forge, reason: str) -> None:
    log.refuses(forge(log), reason)


@pytest.fixture
def complained() -> ForgedLog:
    return ForgedLog(_complained())


def complaint(log: ForgedLog, client: str | None = None, **fields: Any) -> entries.ComplaintFiled:
    document = log.leaf("complaint").complaint.message.model_copy(update=fields)
    key = log.made.clients[client or document.client].identity_key
    return entries.ComplaintFiled(federation=NAME, complaint=Signed[Complaint].make(key, document))


def test_complaints_convict(complained: ForgedLog) -> None:
    trail = complained.verify()
    assert set(trail.revoked) == {(NAME, LIAR)}
    assert len(trail.complaints) == 2
    assert [kind for _, kind in trail.steps[NAME, 1]] == ["plan", "cohort", "complaint", "complaint", "convicted"]
    assert [complained.leaves[place].kind for place, _ in trail.steps[NAME, 1]] == [
        kind for _, kind in trail.steps[NAME, 1]
    ]


def test_what_a_complaint_may_not_say(complained: ForgedLog) -> None:
    log, place = complained, complained.find("complaint")
    honest = log.leaves[place]
    for leaf, reason in (
        (complaint(log, round=2), "round 2 of engines was never planned"),
        (complaint(log, seat=2), "client-00 has seat 1, not 2"),
        (complaint(log, client="client-01"), "the signature under 'fgpr-v1/complaint'"),
    ):
        log.leaves[place] = leaf
        log.refuses(place, reason)
    log.leaves[place] = honest
    log.refuses(log.append(honest), "the complaint of client-00 in round 1 stands in the log twice")
    log.leaves.pop()
    log.remove("cohort")
    log.refuses(log.find("complaint"), "a complaint of round 1, which has no cohort")


def test_what_a_conviction_needs(complained: ForgedLog) -> None:
    log, place = complained, complained.find("convicted")
    honest = log.leaves[place]
    for fields, reason in (
        ({"client": "client-03"}, "the complaints of round 1 do not convict client-03"),
        ({"round": 2}, "round 2 of engines was never planned"),
    ):
        log.leaves[place] = honest.model_copy(update=fields)
        log.refuses(place, reason)
    log.leaves[place] = honest
    log.refuses(log.append(honest), "the revocation of client-02 stands in the log twice")
    log.leaves.pop()
    log.remove("complaint", 1)
    log.refuses(log.find("convicted"), "the complaints of round 1 do not convict client-02")

"""What leaves of priors may not say: each test breaks one check, and the keeper signs it."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from fgpr.auditlog import cosignature
from fgpr.auditlog.entries import AnsweredOpening
from fgpr.secagg.messages import Seat
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.privacy import PrivacyRules
from fgpr.secagg.witnessing import cosigned_checkpoint
from support.client import NAME, SECONDS
from support.federation import Federation
from support.forged_log import READERS_KEY, ForgedLog, played

Forge = Callable[[ForgedLog], int]
PUBLISHED, CARRIED = 1, 2
"""The second prior of the log was averaged, the third carried."""


@cache
def _made() -> Federation:
    return played()


@cache
def _kept() -> Federation:
    """A round whose average leaves the trust region."""
    made = Federation(5, AggregationRules(largest_step=0.01), logs_all=True)
    made.run(dict.fromkeys(made.names, ((0.9, -0.9, 0.9), 5)))
    return made


@pytest.fixture
def log() -> ForgedLog:
    return ForgedLog(_made())


def record_of(log: ForgedLog, nth: int = PUBLISHED) -> Any:
    return log.leaf("prior", nth).prior.message


def theta_moved(log: ForgedLog, nth: int) -> dict[str, Any]:
    first, *rest = record_of(log, nth).theta
    return {"theta": (float(np.nextafter(first, 9.0)), *rest)}


def opened(log: ForgedLog, **fields: Any) -> dict[str, Any]:
    return {"opened": record_of(log).opened.model_copy(update=fields)}


def without_cohort(log: ForgedLog) -> int:
    log.remove("cohort")
    return log.find("prior", PUBLISHED)


def without_plan(log: ForgedLog) -> int:
    for kind in ("plan", "cohort"):
        log.remove(kind)
    return log.find("prior", PUBLISHED)


def never_aborted(log: ForgedLog) -> int:
    log.remove("aborted", 1)
    return log.find("prior", CARRIED)


def older(log: ForgedLog) -> int:
    """The second prior again, as what the last round made of it."""
    moved = {"version": 3, "theta_version": 3, "round": 2}
    return log.change_document("prior", 3, **moved)


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (lambda log: log.change_document("prior", 0, federation="bridges"), "the prior is one of bridges"),
        (lambda log: log.change_document("prior", 0, key=READERS_KEY), "the signature under 'fgpr-v1/prior'"),
        (lambda log: log.change_document("prior", 0, **theta_moved(log, 0)), "the first prior is not that of the"),
        (lambda log: log.append(log.leaf("prior")), "prior 0 stands where 4 comes next"),
        (lambda log: log.change_document("prior", 1, version=2, theta_version=2), "prior 2 stands where 1 comes next"),
        (
            lambda log: log.change_document("prior", 1, spec=record_of(log).spec | {"kernel": "matern32"}),
            "prior 1 changes the model",
        ),
        (
            lambda log: log.change_document("prior", 1, reason="initial", round=None, opened=None),
            "prior 1 comes from no round",
        ),
        (without_plan, "round 1 of engines was never planned"),
        (older, "round 2 did not start from prior 2"),
        (without_cohort, "round 1 published a sum without a cohort"),
        (lambda log: log.change_document("prior", CARRIED, **theta_moved(log, CARRIED)), "a carried prior changes"),
        (lambda log: log.change_document("prior", CARRIED, theta_version=0), "a carried prior changes theta"),
        (
            lambda log: log.change_document("prior", **theta_moved(log, 1), nth=1),
            "prior 1 is not what its summed vector",
        ),
        (
            lambda log: log.change_document("prior", 1, **opened(log, sum=bytes(32))),
            "the total weight 0 of 5 clients|.*weight",
        ),
        (
            lambda log: log.change_document("prior", 1, **opened(log, clients=4)),
            "prior 1 names another cohort than that of round 1",
        ),
        (
            lambda log: log.change_document("prior", 1, **opened(log, plan=bytes(32))),
            "prior 1 names another plan than that of round 1",
        ),
        (
            lambda log: log.change_document("prior", 1, reason="kept", theta_version=0, theta=record_of(log, 0).theta),
            "prior 1 is kept",
        ),
        (never_aborted, "a round in stage contributing does not know void_timed_out"),
    ],
)
def test_what_a_prior_may_not_say(log: ForgedLog, forge: Forge, reason: str) -> None:
    log.refuses(forge(log), reason)


def test_a_kept_theta_is_the_old_one() -> None:
    log = ForgedLog(_kept())
    assert [record_of(log, nth).reason for nth in (0, 1)] == ["initial", "kept"]
    log.verify()
    log.refuses(log.change_document("prior", 1, **theta_moved(log, 1)), "a kept prior changes theta")


def answers(log: ForgedLog, nth: int = PUBLISHED) -> tuple[AnsweredOpening, ...]:
    found: tuple[AnsweredOpening, ...] = log.leaf("prior", nth).openings
    return found


def stranger(log: ForgedLog) -> dict[str, Any]:
    return {"openings": (*answers(log), answers(log)[0].model_copy(update={"client": "stranger"}))}


def cosigned(log: ForgedLog, value: bytes | None) -> dict[str, Any]:
    first, *rest = answers(log)
    return {"openings": (first.model_copy(update={"cosignature": value}), *rest)}


def forged_cosignature(log: ForgedLog, kind: str, client: str = "client-00", **service: Any) -> bytes:
    """A cosignature of the first cohort's checkpoint, or that of another cohort, log or member."""
    cohort = log.leaf("cohort", 0 if kind == "first" else 1).cohort.message
    key = service.get("service_key", log.made.anchors.service_key)
    return cosignature.cosign(cosigned_checkpoint(cohort, key), log.made.clients[client].identity_key, SECONDS)


NOT_ITS = "a cosignature of the checkpoint of 19 leaves does not hold"


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (lambda log: log.change("prior", 0, openings=answers(log)), "a prior without a sum names openings"),
        (lambda log: log.change("prior", CARRIED, spare=1), "a prior without a sum names openings"),
        (lambda log: log.change("prior", 0, disputed=("client-00",)), "a prior without a sum names openings"),
        (lambda log: log.change("prior", 1, openings=(*answers(log), answers(log)[0])), "a member opened twice"),
        (lambda log: log.change("prior", 1, **stranger(log)), "stranger opened without a seat"),
        (lambda log: log.change("prior", 1, openings=answers(log)[:3]), "3 openings, and 4 are needed"),
        (lambda log: log.change("prior", 1, spare=0), "0 openings are called spare, there were 1"),
        (lambda log: log.change("prior", 1, disputed=("stranger",)), "a member is disputed that did not open"),
        (lambda log: log.change("prior", 1, **cosigned(log, None)), "client-00 cosigns the checkpoint of a cohort"),
        (lambda log: log.change("prior", 1, **cosigned(log, bytes(72))), NOT_ITS),
        (lambda log: log.change("prior", 1, **cosigned(log, forged_cosignature(log, "first", "client-01"))), NOT_ITS),
        (lambda log: log.change("prior", 1, **cosigned(log, forged_cosignature(log, "second"))), NOT_ITS),
        (
            lambda log: log.change(
                "prior", 1, **cosigned(log, forged_cosignature(log, "first", service_key=bytes(32)))
            ),
            NOT_ITS,
        ),
    ],
)
def test_who_opened_and_cosigned(log: ForgedLog, forge: Forge, reason: str) -> None:
    log.refuses(forge(log), reason)


def test_a_member_whose_seat_had_no_key_did_not_open() -> None:
    made = Federation(5, logs_all=True)
    del made.keys["client-04"]
    made.run(dict.fromkeys(made.names, ((0.1, -0.2, 0.3), 5)), openers=made.names[:4])
    log = ForgedLog(made)
    assert log.leaf("plan").plan.message.seats[4] == Seat(client="client-04", key=None)
    log.verify()
    first = answers(log)[0]
    place = log.change("prior", 1, openings=(*answers(log), first.model_copy(update={"client": "client-04"})))
    log.refuses(place, "client-04 opened without a seat")


def test_the_log_tells_who_cosigned_what(log: ForgedLog) -> None:
    first, last = log.verify().witnessed
    assert first.round == (NAME, 1)
    assert first.position == log.leaf("cohort").cohort.message.checkpoint
    assert first.clients == ("client-00", "client-01", "client-02", "client-03", "client-04")
    assert first.leaf == log.find("prior", 1)
    assert last.clients == ("client-00", "client-01", "client-02", "client-03")


def test_what_a_prior_says_of_privacy_follows_from_the_plans() -> None:
    rules = AggregationRules(weighting="uniform", min_cohort=4, privacy=PrivacyRules(clip=0.5, noise=2.0, delta=1e-6))
    made = Federation(5, rules, logs_all=True)
    made.run({name: (made.prior.vector(), 5) for name in made.names})
    log = ForgedLog(made)
    told = record_of(log).privacy
    log.verify()
    for other in (None, told.model_copy(update={"rounds": 2}), told.model_copy(update={"rho": told.rho / 2})):
        place = log.change_document("prior", 1, privacy=other)
        log.refuses(place, "prior 1 does not say what its rounds cost in privacy")

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr.errors import PlanRefused
from fgpr.message import Signed
from fgpr.secagg.checked_plan import Anchors
from fgpr.secagg.messages import Cohort, CohortMember, LogPosition, OpeningKey
from fgpr.secagg.roster import Roster, RosterEntry
from support.plan_case import Case, case

STRANGER = Ed25519PrivateKey.from_private_bytes(bytes([9]) * 32)


Break = Callable[[Case], None]


def theta_from_the_future(made: Case) -> None:
    made.change(theta_version=5)
    made.change_prior(theta_version=5)


def older_theta(made: Case) -> None:
    # The prior that was carried, shown again after a newer theta.
    made.change(round=3, prior_version=2, theta_version=0)
    made.change_prior(version=2, theta_version=0)
    made.remember_round(contributed=False, theta_version=1)


def second_plan_for_a_prior(made: Case) -> None:
    made.change(round=2)
    made.remember_round()


def second_plan_for_a_prior_that_was_opened(made: Case) -> None:
    # Whoever opened one sum of this prior and contributed to none would open a second one.
    made.change(round=2)
    made.remember_round(contributed=False, opened=cohort_of("client-00"))


def cohort_of(*clients: str) -> Cohort:
    counted = tuple(CohortMember(client=client, header=bytes(32)) for client in clients)
    at = LogPosition(size=0, root=bytes(32))
    return Cohort(federation="engines", round=1, plan=bytes(32), checkpoint=at, members=counted)


def foreign_key(made: Case) -> None:
    key = Signed[OpeningKey].make(STRANGER, made.key_of(2).message)
    made.change(seats=made.with_key(2, key))


def renamed_key(made: Case) -> None:
    made.change(seats=made.with_key(2, made.key_of(3)))


def key_of_another_federation(made: Case) -> None:
    key = made.key_of(2).message.model_copy(update={"federation": "bridges"})
    signed = Signed[OpeningKey].make(made.federation.clients["client-01"].identity_key, key)
    made.change(seats=made.with_key(2, signed))


def key_twice(made: Case) -> None:
    key = made.key_of(2).message.model_copy(update={"key": made.key_of(3).message.key})
    signed = Signed[OpeningKey].make(made.federation.clients["client-01"].identity_key, key)
    made.change(seats=made.with_key(2, signed))


def extra_client(made: Case) -> None:
    line = RosterEntry(client="sybil", identity_key=bytes(32), may_serve=True, revoked=False, declared=None)
    members = made.roster.message.model_copy(update={"clients": (*made.roster.message.clients, line)})
    made.roster = Signed[Roster].make(STRANGER, members)
    made.change(roster_digest=members.digest())


def second_roster_of_a_version(made: Case) -> None:
    made.remember_round(contributed=False)
    made.change_roster(nonce=bytes(32))


def roster_signed_after_the_plan(made: Case) -> None:
    # Whoever is revoked in between would be looked for by nobody.
    made.federation.revoke("client-03")
    made.change_roster(checkpoint=made.federation.log.position())


def roster_of_another_log(made: Case) -> None:
    made.change_roster(checkpoint=LogPosition(size=made.plan.checkpoint.size, root=bytes(32)))


def roster_changed_while_carried(made: Case) -> None:
    # Nobody who opened: a contributor alone has to notice that another committee would answer.
    made.change(prior_version=1)
    made.change_prior(version=1)
    made.remember_round(prior_version=0)
    made.change_roster(nonce=bytes(32), version=2)


def seats_changed_while_carried(made: Case) -> None:
    made.change(prior_version=1)
    made.change_prior(version=1)
    made.remember_round(prior_version=0)
    made.change(committee_cap=4, seats=made.plan.seats[:4])


def other_committee_cap(made: Case) -> None:
    made.change(round=2)
    made.remember_round(contributed=False)
    # Everybody is seated under either cap: the draw alone does not show it.
    made.change(committee_cap=made.plan.committee_cap + 1)


def other_invited_cap(made: Case) -> None:
    made.change(round=2)
    made.remember_round(contributed=False)
    made.change(invited_cap=len(made.plan.invited))


def forged_log(made: Case) -> None:
    made.remember(checkpoint=LogPosition(size=1, root=bytes(32)))
    made.log = dataclasses.replace(made.log, since_kept=made.federation.log.proof(1))


def shorter_log(made: Case) -> None:
    made.remember(checkpoint=LogPosition(size=made.log.latest.size + 1, root=bytes(32)))


def log_without_the_plan_s_checkpoint(made: Case) -> None:
    made.change(checkpoint=LogPosition(size=1, root=bytes(32)))


def wide_codec(made: Case) -> None:
    made.change(codec=made.plan.codec | {"fraction_bits": 43})


def plan_with(**fields: Any) -> Break:
    return lambda made: made.change(**fields)


def prior_with(**fields: Any) -> Break:
    return lambda made: made.change_prior(**fields)


def history_with(**fields: Any) -> Break:
    return lambda made: made.remember(**fields)


def floors_with(**fields: Any) -> Break:
    def apply(made: Case) -> None:
        made.floors = dataclasses.replace(made.floors, **fields)

    return apply


def codec_with(**fields: Any) -> Break:
    return lambda made: made.change(codec=made.plan.codec | fields)


def with_attribute(**fields: Any) -> Break:
    def apply(made: Case) -> None:
        for name, value in fields.items():
            setattr(made, name, value)

    return apply


BREAKS: list[tuple[int, str, Break]] = [
    (1, "does not hold", with_attribute(key=STRANGER)),
    (1, "for federation bridges", plan_with(federation="bridges")),
    (1, "for federation engines", with_attribute(anchors=Anchors("bridges", case().anchors.service_key, bytes(32)))),
    (2, "round 1 is not above round 1", history_with(last_round=1)),
    (2, "not above round 7", history_with(last_round=7)),
    (3, "below the last one seen", history_with(prior_version=1)),
    (3, "the prior says otherwise", prior_with(version=1)),
    (3, "the prior says otherwise", plan_with(theta_version=1)),
    (3, "younger than its prior", theta_from_the_future),
    (3, "theta 0 is below theta 1, seen before", older_theta),
    (4, "to which this client contributed, is not proven void", second_plan_for_a_prior),
    (4, "of which this client opened a cohort, is not proven void", second_plan_for_a_prior_that_was_opened),
    (5, "the prior's digest", prior_with(digest=bytes(32))),
    (5, "not finite", prior_with(vector=np.array([0.0, np.nan, 0.0]))),
    (5, "not finite", prior_with(vector=np.array([0.0, 0.0, np.inf]))),
    (5, "outside the codec's bounds", prior_with(vector=np.array([0.0, -50.0, 0.0]))),
    (5, "outside the codec's bounds", prior_with(vector=np.array([0.0, 50.0, 0.0]))),
    (5, "has 2 numbers", prior_with(vector=np.zeros(2))),
    (5, "has 3 numbers", prior_with(vector=np.zeros((3, 1)))),
    (5, "exactly the fields", codec_with(colour="blue")),
    (5, "bounds", codec_with(lower=[0, 0, 0], upper=[0, 0, 0])),
    (5, "weight cap", codec_with(weight_cap=2**16)),
    (6, "at most 4 clients fit", wide_codec),
    (7, "does not hold", with_attribute(roster=Signed[Roster].make(STRANGER, case().roster.message))),
    (7, "does not hold", extra_client),
    (7, "roster is of federation", lambda made: made.change_roster(federation="bridges")),
    (7, "has version 1", plan_with(roster_version=2)),
    (7, "digest is not the named one", plan_with(roster_digest=bytes(32))),
    (7, "below the last one seen", history_with(roster_version=2)),
    (7, "another content before", second_roster_of_a_version),
    (7, "3 leaves, is not up to the plan's 1", roster_signed_after_the_plan),
    (7, "1 leaves, is not up to the plan's 1", roster_of_another_log),
    (7, "roster changed while its theta was carried", roster_changed_while_carried),
    (7, "seats changed while their theta was carried", seats_changed_while_carried),
    (8, "threshold 3, not 4", plan_with(threshold=3)),
    (8, "threshold 5, not 4", plan_with(threshold=5)),
    (8, "leaves fewer than 2 honest", plan_with(min_cohort=2)),
    (8, "delta 0.9", plan_with(delta=0.9)),
    (9, "gamma 0.19", plan_with(gamma=0.19)),
    (9, "min_cohort 3 is below this client's 4", floors_with(min_cohort=4)),
    (9, "5 seats, this client asks for 6", floors_with(committee=6)),
    (9, "weight cap 65535 is above", floors_with(weight_cap=1000)),
    (10, "the seats", lambda made: made.change(seats=made.plan.seats[::-1])),
    (10, "the invited", plan_with(invited=tuple(f"client-0{number}" for number in (0, 1, 2, 3)))),
    (10, "the invited", plan_with(invited_cap=4)),
    (10, "the caps, the groups or the kind of draw are not those of round 1", other_committee_cap),
    (10, "the caps, the groups or the kind of draw are not those of round 1", other_invited_cap),
    (11, "sybil is neither invited nor seated", with_attribute(client="sybil")),
    (12, "does not hold", foreign_key),
    (12, "the key in client-01's seat is client-02's", renamed_key),
    (12, "is client-01's of bridges", key_of_another_federation),
    (12, "fell from serial 2 to 1", history_with(serials={"client-03": 2})),
    (12, "stands in another seat too", key_twice),
    (13, "expected root", forged_log),
    (13, "sizes never fall", shorter_log),
    (13, "expected root", log_without_the_plan_s_checkpoint),
]


@pytest.mark.parametrize(("check", "reason", "apply"), BREAKS, ids=[f"{n}-{r}" for n, r, _ in BREAKS])
def test_each_check_refuses_what_it_is_for(check: int, reason: str, apply: Break) -> None:
    made = case()
    apply(made)
    with pytest.raises(PlanRefused, match=reason) as refused:
        made.check()
    assert refused.value.check == check


def test_whoever_opened_the_empty_cohort_of_a_round_needs_no_proof_of_it() -> None:
    made = case()
    made.change(round=2)
    made.remember_round(contributed=False, opened=cohort_of())
    made.check()


def test_each_numbered_check_but_the_owner_s_is_broken_at_least_once() -> None:
    assert {check for check, _, _ in BREAKS} == set(range(1, 14))

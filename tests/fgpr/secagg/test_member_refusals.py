import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from fgpr import merkle
from fgpr.errors import CohortRefused
from fgpr.secagg.history import Floors, PastRound, Revocations
from fgpr.secagg.messages import LogPosition
from support import malice
from support.cohort_case import ME, Case, case

STRANGER = Ed25519PrivateKey.from_private_bytes(bytes([9]) * 32)


Break = Callable[[Case], None]


def not_remembered(made: Case) -> None:
    made.remember(rounds=())


def another_plan_remembered(made: Case) -> None:
    # The aggregator showed one plan of the round first and another one now.
    shown = made.checked.plan.model_copy(update={"spare": 7})
    made.remember(rounds=(PastRound(shown, made.checked.roster),))


def another_key(made: Case) -> None:
    made.member = dataclasses.replace(made.member, opening_key=X25519PrivateKey.from_private_bytes(bytes(32)))


def stranger_counted(made: Case) -> None:
    members = made.view.cohort.message.members
    made.recount(members=(*members[:4], members[4].model_copy(update={"client": "sybil"})))


def counted_twice(made: Case) -> None:
    members = made.view.cohort.message.members
    made.recount(members=(*members, members[4]))


def out_of_order(made: Case) -> None:
    made.recount(members=made.view.cohort.message.members[::-1])


def revoked_leaf(made: Case) -> None:
    made.federation.revoke("client-04")
    made.recount(checkpoint=made.federation.log.position())
    made.read()


def leaf_left_out(made: Case) -> None:
    revoked_leaf(made)
    made.span = dataclasses.replace(made.span, leaves=made.span.leaves[:-1])


def leaf_forged(made: Case) -> None:
    revoked_leaf(made)
    made.span = dataclasses.replace(made.span, leaves=(*made.span.leaves[:-1], b"{}"))


def log_forked_without_the_revocation(made: Case) -> None:
    # The member has seen the revocation in the log; for this cohort it is shown one without it.
    made.federation.revoke("client-04")
    made.remember(checkpoint=made.federation.log.position())
    fork = made.federation.log.leaves[:-1]
    made.recount(checkpoint=position([*fork, fork[0], fork[0]]))
    made.span = dataclasses.replace(made.span, leaves=[*made.span.leaves, fork[-1], fork[0], fork[0]])


def log_forked_before_what_was_seen(made: Case) -> None:
    log = made.federation.log
    made.federation.revoke("client-04")
    made.federation.revoke("client-03")
    made.remember(checkpoint=log.position())
    fork = [*log.leaves[:-2], log.leaves[0]]
    made.recount(checkpoint=position(fork))
    made.span = dataclasses.replace(made.span, leaves=fork, since_cohort=log.proof(len(fork), len(log.leaves)))


def log_forked_before_the_plan(made: Case) -> None:
    made.remember(checkpoint=LogPosition(size=made.checked.plan.checkpoint.size, root=bytes(32)))


def position(leaves: list[bytes]) -> LogPosition:
    return LogPosition(size=len(leaves), root=merkle.root([merkle.leaf_hash(leaf) for leaf in leaves]))


def unreadable_leaf(made: Case) -> None:
    made.federation.log.leaves.append(b'{"kind":"revoked"}')
    made.recount(checkpoint=made.federation.log.position())
    made.read()


def span_that_starts_later(made: Case) -> None:
    # At the plan's checkpoint, with whatever was revoked since the roster left out.
    tree, start = made.federation.log.tree(), made.checked.plan.checkpoint.size
    leaves = made.federation.log.leaves[start : made.view.cohort.message.checkpoint.size]
    made.span = dataclasses.replace(made.span, frontier=merkle.frontier(start, tree.node), leaves=leaves)


def span_from_the_roster_again(made: Case) -> None:
    read = made.checked.plan.checkpoint
    made.remember(revocations=Revocations(position=read, roster_version=1, clients=frozenset()))


def log_without_the_plan_s_checkpoint(made: Case) -> None:
    # The plan's checks saw to its place in the log; a member that kept no checkpoint sees to it here.
    made.remember(checkpoint=None)
    fork = [b"{}", *made.federation.log.leaves[1:]]
    made.recount(checkpoint=position(fork))
    made.span = dataclasses.replace(made.span, leaves=fork)


def log_read_before_without_the_plan_s_checkpoint(made: Case) -> None:
    # What it read for an earlier cohort ended where the plan's checkpoint is, and was another log.
    fork = [b"{}", *made.federation.log.leaves[1:]]
    read = Revocations(position=position(fork[:1]), roster_version=1, clients=frozenset())
    made.remember(checkpoint=None, revocations=read)
    made.recount(checkpoint=position(fork))
    frontier = merkle.frontier(1, merkle.Tree([merkle.leaf_hash(leaf) for leaf in fork]).node)
    made.span = dataclasses.replace(made.span, frontier=frontier, leaves=fork[1:])


def cohort_before_the_plan(made: Case) -> None:
    made.recount(checkpoint=made.checked.roster.checkpoint)
    made.read()


def cohort_before_what_was_read(made: Case) -> None:
    read = made.federation.log.position()
    made.remember(revocations=Revocations(position=read, roster_version=1, clients=frozenset()))
    made.recount(checkpoint=made.checked.plan.checkpoint)
    made.read()


def known_to_be_revoked(made: Case) -> None:
    read = made.checked.plan.checkpoint
    made.remember(revocations=Revocations(position=read, roster_version=1, clients=frozenset({"client-03"})))
    made.read()


def entry_missing(made: Case) -> None:
    made.view = made.view.model_copy(update={"entries": made.view.entries[:-1]})


def entries_swapped(made: Case) -> None:
    first, second, *others = made.view.entries
    made.view = made.view.model_copy(update={"entries": (second, first, *others)})


def header_by_another_key(made: Case) -> None:
    header = made.view.entries[0].header
    made.change_entry(0, header=type(header).make(STRANGER, header.message))


def header_not_counted(made: Case) -> None:
    # Signed by its client, and not the one that the cohort counts.
    header = made.view.entries[0].header
    other = header.message.model_copy(update={"masked": bytes(32)})
    made.change_entry(0, header=type(header).make(made.federation.clients["client-00"].identity_key, other))


def header_of_another_plan(made: Case) -> None:
    header = made.view.entries[0].header
    key = made.federation.clients["client-00"].identity_key
    other = type(header).make(key, header.message.model_copy(update={"plan": bytes(32)}))
    members = made.view.cohort.message.members
    made.recount(members=(members[0].model_copy(update={"header": other.message.digest()}), *members[1:]))
    made.change_entry(0, header=other)


def swapped_boxes(made: Case) -> None:
    stored = malice.swapped_but_one(made.federation, ME, "client-03")
    made.view = made.federation.view(ME, made.view.cohort, stored)


def box_of_another_seat(made: Case) -> None:
    sent = made.federation.now.contributions["client-00"]
    tree = merkle.Tree([merkle.leaf_hash(box) for box in sent.boxes])
    made.change_entry(0, box=sent.boxes[2], path=merkle.inclusion_proof(2, 5, tree.node))


def box_that_does_not_open(made: Case) -> None:
    garbled(made, bytes(80))


def box_with_too_short_a_share(made: Case) -> None:
    garbled(made, malice.box_of(made.checked.plan, made.federation.clients["client-00"], 2, bytes(24)))


def box_with_a_share_beyond_the_field(made: Case) -> None:
    garbled(made, malice.box_of(made.checked.plan, made.federation.clients["client-00"], 2, b"\xff" * 32))


def box_for_another_seat_s_info(made: Case) -> None:
    sender, plan = made.federation.clients["client-00"], made.checked.plan
    # Sealed for this member's key, under the first seat's info of the same plan.
    key = plan.seats[1].key
    assert key is not None
    garbled(made, malice.sealed(plan, sender, 1, key.message.key, bytes(32)))


def garbled(made: Case, box: bytes) -> None:
    """A malicious client's contribution: everything signed by it, with this box for the member."""
    client = made.federation.clients["client-00"]
    sent = malice.with_box(made.federation.now.contributions["client-00"], 2, box, client.identity_key)
    made.federation.now.contributions["client-00"] = sent
    made.count(*made.federation.names)


def opened_another(made: Case) -> None:
    other = made.federation.cohort_of(made.federation.names[:4]).message
    made.remember(rounds=(dataclasses.replace(made.history.rounds[0], opened=other),))


def opened_the_empty_one(made: Case) -> None:
    other = made.federation.cohort_of(()).message
    made.remember(rounds=(dataclasses.replace(made.history.rounds[0], opened=other),))


def asked_for_the_empty_one(made: Case) -> None:
    made.remember(rounds=(dataclasses.replace(made.history.rounds[0], opened=made.view.cohort.message),))
    made.recount(members=())


def opened_for_the_same_theta(*names: str) -> Break:
    def apply(made: Case) -> None:
        other = made.federation.cohort_of(names).message
        before = made.checked.plan.model_copy(update={"round": 0})
        earlier = PastRound(before, made.checked.roster, opened=other)
        made.remember(rounds=(earlier, *made.history.rounds))
        made.count(*made.federation.names[: len(made.view.entries)])

    return apply


def member_with(**fields: Any) -> Break:
    def apply(made: Case) -> None:
        made.member = dataclasses.replace(made.member, **fields)

    return apply


BREAKS: list[tuple[int, str, Break]] = [
    (1, "sybil has no seat", member_with(client="sybil")),
    (1, "is not the one that client-01 remembers", not_remembered),
    (1, "is not the one that client-01 remembers", another_plan_remembered),
    (1, "stay silent", member_with(opening_key=None)),
    (1, "stay silent", another_key),
    (2, "a plan of round 2 was seen", lambda made: made.remember(last_round=2)),
    (3, "does not hold", lambda made: made.recount(key=STRANGER)),
    (3, "another plan", lambda made: made.recount(plan=bytes(32))),
    (3, "another plan", lambda made: made.recount(round=2)),
    (3, "another plan", lambda made: made.recount(federation="bridges")),
    (4, "sybil not invited", stranger_counted),
    (4, "stands twice", counted_twice),
    (4, "not in order", out_of_order),
    (5, "2 clients, at least 3", lambda made: made.count("client-00", "client-02")),
    (5, "1 clients, at least 3", lambda made: made.count("client-00")),
    (5, "at least 6", lambda made: setattr(made, "floors", Floors(min_cohort=6))),
    (6, "client-04 revoked", revoked_leaf),
    (6, "does not end at the cohort's", leaf_left_out),
    (6, "does not end at the cohort's", leaf_forged),
    (6, "not the one that was known", log_forked_without_the_revocation),
    (6, "consistency", log_forked_before_what_was_seen),
    (6, "not the one that was known", log_forked_before_the_plan),
    (6, "does not start at the 0 leaves", span_that_starts_later),
    (6, "does not start at the 1 leaves", span_from_the_roster_again),
    (6, "not the one of the plan at 1", log_without_the_plan_s_checkpoint),
    (6, "not the one of the plan at 1 leaves", log_read_before_without_the_plan_s_checkpoint),
    (6, "of 0 leaves lies before the plan's", cohort_before_the_plan),
    (6, "of 1 leaves lies before what this member has read", cohort_before_what_was_read),
    (6, "client-03 revoked", known_to_be_revoked),
    (6, "leaf: ", unreadable_leaf),
    (6, "4 entries for 5", entry_missing),
    (6, "header is not the counted one", entries_swapped),
    (6, "does not hold", header_by_another_key),
    (6, "header is not the counted one", header_not_counted),
    (6, "header is not the counted one", header_of_another_plan),
    (7, "expected root", swapped_boxes),
    (7, "expected root", box_of_another_seat),
    (8, "does not open", box_that_does_not_open),
    (8, "does not open", box_for_another_seat_s_info),
    (8, "24 bytes are not 4 words", box_with_too_short_a_share),
    (8, "reaches the modulus", box_with_a_share_beyond_the_field),
    (9, "another cohort of round 1", opened_another),
    (9, "another cohort of round 1", opened_the_empty_one),
    (9, "another cohort of round 1", asked_for_the_empty_one),
    (10, "differ by 1 client", opened_for_the_same_theta("client-00", "client-01", "client-02", "client-03")),
    (10, "differ by 2 client", opened_for_the_same_theta("client-00", "client-01", "client-02")),
]


@pytest.mark.parametrize(("check", "reason", "apply"), BREAKS, ids=[f"{n}-{r}" for n, r, _ in BREAKS])
def test_each_check_refuses_what_it_is_for(check: int, reason: str, apply: Break) -> None:
    made = case()
    apply(made)
    with pytest.raises(CohortRefused, match=reason) as refused:
        made.open()
    assert refused.value.check == check


def test_each_numbered_check_is_broken_at_least_once() -> None:
    assert {check for check, _, _ in BREAKS} == set(range(1, 11))

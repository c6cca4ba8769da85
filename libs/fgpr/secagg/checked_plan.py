"""The numbered checks that a client makes of a plan before it computes anything for it.

1.  the service key signed it, and it is this federation's
2.  its round number is above the last one seen (gaps are fine): never a second plan for a round
3.  its prior version is not below the last one seen, nor its theta version, both are the prior's own, and no theta is
    younger than its prior
4.  each earlier round of the same prior version to which this client contributed, or of which it opened a cohort that
    is not empty, is proven void
5.  the prior is the named one, finite and inside the codec's bounds
6.  the sums of all invited clients, noise and all, fit the field
7.  the roster is the named one, signed by the roster key, its version not below the last one seen and never with
    another content, its checkpoint not beyond the plan's; while a theta is carried, roster and seats stay; where
    clients are drawn by weight, each signed the weight beside it, which is within the cap
8.  committee and cohort numbers follow from gamma, seats and invited clients, K from declared weights where those draw
9.  gamma, seats, cohort, weight cap, suite, number of groups are no weaker than the client's floors; the roster has
    every peer that the client requires, and the plan none beside those that it accepts
10. seats and invited clients are the ones that the roster's nonce draws, the latter in proportion to declared weights
    where the plan says so, and the groups those that it deals, with the caps, the number of groups and the kind of draw
    of every plan that the client remembers
11. this client is invited (a member: it has a seat)
12. every opening key is signed by its client and of the plan's suite, no serial falls, no key stands twice
13. the audit log continues the last checkpoint that the client kept, and the plan's own
14. one carry in a row, no more: after that the owner decides
15. under differential privacy: uniform weights, noise shared among min_cohort - K clients, differences from the prior
16. its clip, noise and delta are those of earlier plans, its noise no less than the client's floor
17. a contributor, before it trains: the round's privacy cost fits the client's budget

A client that fails one stops; nothing has left it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from fgpr import merkle
from fgpr.errors import FgprError, PlanRefused
from fgpr.message import Signed
from fgpr.secagg.checked_draws import check_declared, check_draws
from fgpr.secagg.committee import Committee
from fgpr.secagg.encoding import Codec
from fgpr.secagg.field import MERSENNE_61
from fgpr.secagg.floor_checks import check_carries, check_floors
from fgpr.secagg.history import Floors, History, PastRound
from fgpr.secagg.messages import LogPosition, Plan
from fgpr.secagg.pinned_peers import check_peers
from fgpr.secagg.planning import committee_of
from fgpr.secagg.privacy import check_signed_capacity
from fgpr.secagg.privacy_checks import check_strength, check_terms
from fgpr.secagg.roster import Roster
from fgpr.secagg.seat_keys import check_seat_keys
from fgpr.secagg.void_proof import verify_void


@dataclass(frozen=True)
class CheckedPlan:
    """A plan that passed every check, with what the checks found out.

    Attributes:
        plan: the plan.
        digest: its digest, 32 bytes.
        roster: the roster that it names.
        codec: its codec.
        committee: its committee's numbers.
    """

    plan: Plan
    digest: bytes
    roster: Roster
    codec: Codec
    committee: Committee


@dataclass(frozen=True)
class Anchors:
    """What a client trusts from its ticket: the federation's name and two public keys of 32 bytes."""

    federation: str
    service_key: bytes
    roster_key: bytes


@dataclass(frozen=True)
class NamedPrior:
    """The prior that a plan starts from, as it reaches the protocol: numbers without a meaning.

    Attributes:
        version: its version.
        theta_version: the version that first carried its vector.
        digest: the digest of its published record, 32 bytes.
        vector: its numbers, shape [L].
    """

    version: int
    theta_version: int
    digest: bytes
    vector: np.ndarray


@dataclass(frozen=True)
class LogView:
    """The audit log as a client sees it now.

    Attributes:
        latest: the checkpoint that it just verified.
        since_kept: consistency proof from the checkpoint it kept to `latest`; empty where it kept none.
        since_plan: consistency proof from the plan's checkpoint to `latest`.
    """

    latest: LogPosition
    since_kept: Sequence[bytes]
    since_plan: Sequence[bytes]


def check_plan(
    signed: Signed[Plan],
    *,
    client: str,
    anchors: Anchors,
    roster: Signed[Roster],
    prior: NamedPrior,
    log: LogView,
    history: History,
    floors: Floors,
) -> CheckedPlan:
    """Make checks 1 to 16 of the module docstring, in order, but 14 last; 17 is `fgpr.federated.accounting`'s.

    Raises:
        PlanRefused: names the check that failed.
        OwnerConsentRequired: check 14.
    """
    plan = signed.message
    # (1)
    with _failing(1):
        signed.verify(anchors.service_key)
    _require(1, plan.federation == anchors.federation, f"it is for federation {plan.federation}")
    # (2)
    _require(2, plan.round > history.last_round, f"round {plan.round} is not above round {history.last_round}")
    # (3)
    _require(3, plan.prior_version >= history.prior_version, f"prior {plan.prior_version} is below the last one seen")
    _require(
        3,
        (plan.prior_version, plan.theta_version) == (prior.version, prior.theta_version),
        f"it names prior {plan.prior_version} of theta {plan.theta_version}, the prior says otherwise",
    )
    _require(
        3, plan.theta_version <= plan.prior_version, f"theta {plan.theta_version} is younger than its prior version"
    )
    newest = max((past.plan.theta_version for past in history.rounds), default=0)
    _require(3, plan.theta_version >= newest, f"theta {plan.theta_version} is below theta {newest}, seen before")
    # (4)
    for past in history.rounds:
        if past.may_be_open and past.plan.prior_version == plan.prior_version:
            with _failing(4):
                verify_void(past, plan.void, anchors.service_key)
    # (5)
    with _failing(5):
        codec = Codec.from_json(plan.codec)
    _require(5, plan.prior_digest == prior.digest, "the prior's digest is not the named one")
    _check_vector(prior.vector, codec)
    # (6)
    terms = plan.differential_privacy
    with _failing(6):
        if terms is None:
            codec.check_capacity(len(plan.invited))
        else:
            check_signed_capacity(len(plan.invited), terms, MERSENNE_61)
    # (7)
    members = _check_roster(plan, roster, anchors, history)
    check_declared(plan, members, history)
    # (8)
    numbers = _check_numbers(plan, members)
    # (9)
    check_floors(plan, codec, floors)
    check_peers(plan, members, client, floors)
    # (10)
    check_draws(plan, members, history)
    # (11)
    _require(11, client in plan.invited or plan.seat_of(client) is not None, f"{client} is neither invited nor seated")
    # (12)
    check_seat_keys(plan, members, history)
    # (13)
    _check_log(plan, log, history)
    # (15, 16)
    check_terms(plan, numbers, prior.vector)
    check_strength(plan, history, floors)
    # (14)
    check_carries(plan, floors)
    return CheckedPlan(plan, plan.digest(), members, codec, numbers)


def recall(past: PastRound) -> CheckedPlan:
    """A plan that this client checked before, from what it remembers of it; nothing is checked again."""
    plan, roster = past.plan, past.roster
    return CheckedPlan(plan, plan.digest(), roster, Codec.from_json(plan.codec), committee_of(plan, roster))


def _check_vector(vector: np.ndarray, codec: Codec) -> None:
    lower, upper = np.array(codec.lower), np.array(codec.upper)
    _require(5, vector.shape == lower.shape, f"the prior has {vector.size} numbers, the codec {lower.size}")
    _require(5, bool(np.all(np.isfinite(vector))), "the prior holds a number that is not finite")
    _require(5, bool(np.all((vector >= lower) & (vector <= upper))), "the prior is outside the codec's bounds")


def _check_roster(plan: Plan, roster: Signed[Roster], anchors: Anchors, history: History) -> Roster:
    members = roster.message
    with _failing(7):
        roster.verify(anchors.roster_key)
    _require(7, members.federation == plan.federation, f"the roster is of federation {members.federation}")
    _require(7, members.version == plan.roster_version, f"the roster has version {members.version}")
    _require(7, members.digest() == plan.roster_digest, "the roster's digest is not the named one")
    _require(7, members.version >= history.roster_version, f"roster {members.version} is below the last one seen")
    for past in history.rounds:
        known = past.plan.roster_version == members.version
        _require(
            7,
            not known or past.plan.roster_digest == plan.roster_digest,
            f"roster {members.version} had another content before",
        )
    # Where the roster ends, members begin to look for revocations: a later one would hide some from them.
    signed_at, named = members.checkpoint, plan.checkpoint
    _require(
        7,
        signed_at.size < named.size or signed_at == named,
        f"the checkpoint of roster {members.version}, {signed_at.size} leaves, is not up to the plan's {named.size}",
    )
    # Members of another committee would not know which cohorts of this theta were opened.
    before = history.carried_into(plan)
    if before is not None:
        _require(7, before.plan.roster_digest == plan.roster_digest, "the roster changed while its theta was carried")
        seats = [tuple(seat.client for seat in each.seats) for each in (before.plan, plan)]
        _require(7, seats[0] == seats[1], "the seats changed while their theta was carried")
    return members


def _check_numbers(plan: Plan, members: Roster) -> Committee:
    with _failing(8):
        numbers = committee_of(plan, members)
    _require(8, plan.threshold == numbers.threshold, f"threshold {plan.threshold}, not {numbers.threshold}")
    return numbers


def _check_log(plan: Plan, log: LogView, history: History) -> None:
    latest, named, kept = log.latest, plan.checkpoint, history.checkpoint
    with _failing(13):
        if kept is not None:
            merkle.verify_consistency(kept.size, kept.root, latest.size, latest.root, log.since_kept)
        merkle.verify_consistency(named.size, named.root, latest.size, latest.root, log.since_plan)


def _require(check: int, holds: bool, reason: str) -> None:
    if not holds:
        raise PlanRefused(check, reason)


@contextmanager
def _failing(check: int) -> Iterator[None]:
    try:
        yield
    except PlanRefused:
        raise
    except FgprError as error:
        raise PlanRefused(check, str(error)) from error

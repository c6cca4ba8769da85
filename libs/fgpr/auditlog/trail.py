"""Verifying a whole log from its leaves and one checkpoint held outside.

Every signature in it is checked, each document against the ones before it, and every averaged prior is recomputed from
its summed field vector bit for bit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from fgpr import merkle
from fgpr.auditlog import entries
from fgpr.errors import VerificationError
from fgpr.federated.publication import PriorRecord, verify_cost, verify_recomputed
from fgpr.message import Message, Signed
from fgpr.secagg.complaint import check_complaint, convicted
from fgpr.secagg.declared_weight import DeclaredWeight
from fgpr.secagg.messages import Cohort, Complaint, LogPosition, Plan
from fgpr.secagg.roster import Roster

D = TypeVar("D", bound=Message)
K = TypeVar("K")
V = TypeVar("V")


@dataclass
class Trail:
    """The signed documents of a verified log, each by federation and version or round.

    Attributes:
        leaves: how many leaves were verified.
        rosters: roster versions.
        plans: plans by round.
        cohorts: cohorts by round.
        aborted: empty cohorts of aborted rounds, by round.
        priors: priors by version, each with the index of its leaf.
        settings: SHA-256 of each federation's settings, where the log has it.
        enrolled: present identity keys by client.
        declared: declared weights by client, of those that declared one: the same under each key, the present one last.
        roles: "client" or "reader", by client.
        revoked: clients that were revoked or convicted.
        complaints: by round and member.
        states: "open", "paused" or "closed", by federation.
    """

    leaves: int = 0
    rosters: dict[tuple[str, int], Signed[Roster]] = field(default_factory=dict)
    plans: dict[tuple[str, int], Signed[Plan]] = field(default_factory=dict)
    cohorts: dict[tuple[str, int], Signed[Cohort]] = field(default_factory=dict)
    aborted: dict[tuple[str, int], Signed[Cohort]] = field(default_factory=dict)
    priors: dict[tuple[str, int], tuple[Signed[PriorRecord], int]] = field(default_factory=dict)
    settings: dict[str, bytes] = field(default_factory=dict)
    enrolled: dict[tuple[str, str], bytes] = field(default_factory=dict)
    declared: dict[tuple[str, str], tuple[Signed[DeclaredWeight], ...]] = field(default_factory=dict)
    roles: dict[tuple[str, str], str] = field(default_factory=dict)
    revoked: set[tuple[str, str]] = field(default_factory=set)
    complaints: dict[tuple[str, int, str], Signed[Complaint]] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)


def verify_trail(
    leaves: Sequence[bytes], checkpoint: LogPosition, service_key: bytes, roster_keys: Mapping[str, bytes]
) -> Trail:
    """Check a log from its first leaf.

    Args:
        leaves: every leaf in order; there may be more than the checkpoint counts.
        checkpoint: one that was verified and kept outside the log's keeper.
        service_key: the aggregator's public key, 32 bytes.
        roster_keys: public keys of rosters by federation, 32 bytes each.

    Raises:
        VerificationError: leaves are missing, or their root is not the checkpoint's, or a document does not follow.
        EncodingError: a leaf does not have its form.
        SumRefused: a summed vector cannot be an honest average.
    """
    if len(leaves) < checkpoint.size:
        raise VerificationError(f"the log has {len(leaves)} leaves, the checkpoint counts {checkpoint.size}")
    found = merkle.root([merkle.leaf_hash(leaf) for leaf in leaves[: checkpoint.size]])
    if found != checkpoint.root:
        raise VerificationError(f"the first {checkpoint.size} leaves are not those of the checkpoint")
    trail = Trail()
    for index, raw in enumerate(leaves):
        _follow(trail, index, entries.decode(raw), service_key, roster_keys)
        trail.leaves += 1
    return trail


def _follow(trail: Trail, index: int, leaf: entries.Leaf, service_key: bytes, roster_keys: Mapping[str, bytes]) -> None:
    name = leaf.federation
    match leaf:
        case entries.Enrolled():
            _add(trail.enrolled, (name, leaf.client), leaf.identity_key, index)
            trail.roles[name, leaf.client] = leaf.role
            if leaf.declared is not None:
                trail.declared[name, leaf.client] = (leaf.declared,)
        case entries.Revoked():
            trail.revoked.add((name, leaf.client))
        case entries.KeyReplaced():
            _follow_rotation(trail, index, leaf)
        case entries.StateChanged():
            _follow_state(trail, index, leaf)
        case entries.ComplaintFiled(complaint=complaint):
            _follow_complaint(trail, index, name, complaint)
        case entries.Convicted():
            _check_conviction(trail, index, leaf)
            trail.revoked.add((name, leaf.client))
        case entries.RosterSigned(roster=roster):
            _check(index, roster, name, roster_keys.get(name, b""))
            _check_declared(trail, index, roster.message)
            _add(trail.rosters, (name, roster.message.version), roster, index)
        case entries.RoundPlanned(plan=plan):
            _check(index, plan, name, service_key)
            opens = trail.states.get(name, "open") != "closed"
            _require(opens, index, f"round {plan.message.round} opens in a federation that was closed")
            _add(trail.plans, (name, plan.message.round), plan, index)
        case entries.CohortClosed(cohort=cohort):
            _check(index, cohort, name, service_key)
            _check_plan_of(trail, index, cohort.message)
            _add(trail.cohorts, (name, cohort.message.round), cohort, index)
        case entries.RoundAborted(cohort=cohort):
            _check(index, cohort, name, service_key)
            _check_plan_of(trail, index, cohort.message)
            _add(trail.aborted, (name, cohort.message.round), cohort, index)
        case entries.RoundVoid():
            _require((name, leaf.round) in trail.aborted, index, f"round {leaf.round} was never aborted")
        case entries.PriorPublished(prior=prior, settings=settings):
            _check(index, prior, name, service_key)
            if settings is not None:
                _add(trail.settings, name, settings, index)
            _check_prior(trail, index, prior.message)
            _add(trail.priors, (name, prior.message.version), (prior, index), index)


def _follow_rotation(trail: Trail, index: int, leaf: entries.KeyReplaced) -> None:
    holder, change = (leaf.federation, leaf.client), leaf.rotation.change
    _require((change.federation, change.holder) == holder, index, f"the key change is not {leaf.client}'s")
    _require(holder not in trail.revoked, index, f"{leaf.client} was revoked, and has another key all the same")
    _require(
        trail.enrolled.get(holder) == change.old_key, index, f"{leaf.client} does not have the key that is replaced"
    )
    leaf.rotation.verify()
    before = trail.declared.get(holder, ())
    declared = () if leaf.declared is None else (leaf.declared,)
    same = [signed.message for signed in declared] == [signed.message for signed in before[-1:]]
    _require(same, index, f"{leaf.client} declares another weight under its new key")
    for signed in declared:
        signed.verify(change.new_key)
    trail.enrolled[holder] = change.new_key
    if declared:
        trail.declared[holder] = before + declared


def _follow_state(trail: Trail, index: int, leaf: entries.StateChanged) -> None:
    name = leaf.federation
    _require(trail.states.get(name) != "closed", index, "a closed federation is changed again")
    if leaf.state != "released":
        trail.states[name] = "open" if leaf.state == "resumed" else leaf.state


def _check_prior(trail: Trail, index: int, record: PriorRecord) -> None:
    name = record.federation
    if record.version == 0:
        return
    previous, _ = trail.priors.get((name, record.version - 1), (None, 0))
    if previous is None:
        raise VerificationError(f"leaf {index}: prior {record.version} follows none")
    before = previous.message
    if record.reason in ("carried", "kept"):
        same = (record.theta, record.theta_version) == (before.theta, before.theta_version)
        _require(same, index, f"a {record.reason} prior changes theta")
    verify_cost(record, before, _plans_between(trail, before, record))
    if record.opened is None or record.round is None:
        return
    plan, cohort = trail.plans.get((name, record.round)), trail.cohorts.get((name, record.round))
    if plan is None or cohort is None:
        raise VerificationError(f"leaf {index}: round {record.round} published without a plan or a cohort")
    verify_recomputed(record, plan.message, cohort.message, before)


def _plans_between(trail: Trail, previous: PriorRecord, record: PriorRecord) -> list[Plan]:
    """Plans of the rounds after that of `previous`, up to that of `record`."""
    numbers = range((previous.round or 0) + 1, (record.round or 0) + 1)
    found = [trail.plans.get((record.federation, number)) for number in numbers]
    return [plan.message for plan in found if plan is not None]


def _follow_complaint(trail: Trail, index: int, name: str, signed: Signed[Complaint]) -> None:
    number, member = signed.message.round, signed.message.client
    plan, roster = _round_of(trail, index, name, number)
    cohort = trail.cohorts.get((name, number))
    if cohort is None:
        raise VerificationError(f"leaf {index}: a complaint of round {number}, which has no cohort here")
    check_complaint(plan, roster, cohort.message, signed)
    _add(trail.complaints, (name, number, member), signed, index)


def _check_conviction(trail: Trail, index: int, leaf: entries.Convicted) -> None:
    plan, roster = _round_of(trail, index, leaf.federation, leaf.round)
    filed = [one.message for key, one in trail.complaints.items() if key[:2] == (leaf.federation, leaf.round)]
    proven = leaf.client in convicted(plan, roster, filed)
    _require(proven, index, f"the complaints of round {leaf.round} do not convict {leaf.client}")


def _round_of(trail: Trail, index: int, name: str, number: int) -> tuple[Plan, Roster]:
    plan = trail.plans.get((name, number))
    roster = None if plan is None else trail.rosters.get((name, plan.message.roster_version))
    if plan is None or roster is None or roster.message.digest() != plan.message.roster_digest:
        raise VerificationError(f"leaf {index}: round {number} has no plan here, or its roster is not logged")
    return plan.message, roster.message


def _check_plan_of(trail: Trail, index: int, cohort: Cohort) -> None:
    plan = trail.plans.get((cohort.federation, cohort.round))
    _require(plan is not None and plan.message.digest() == cohort.plan, index, "the cohort is of no plan here")


def _check(index: int, signed: Signed[D], federation: str, key: bytes) -> None:
    _require(getattr(signed.message, "federation", None) == federation, index, "the document is another federation's")
    _require(len(key) > 0, index, f"no key is known for federation {federation}")
    signed.verify(key)


def _check_declared(trail: Trail, index: int, roster: Roster) -> None:
    roster.verify_declared()
    for entry in roster.clients:
        party = roster.federation, entry.client
        known = trail.declared.get(party, (None,))
        kept = party not in trail.enrolled or entry.declared in known
        _require(kept, index, f"{entry.client} declared another weight when it enrolled")


def _add(documents: dict[K, V], key: K, document: V, index: int) -> None:
    _require(key not in documents, index, f"{key} stands in the log twice")
    documents[key] = document


def _require(holds: bool, index: int, reason: str) -> None:
    if not holds:
        raise VerificationError(f"leaf {index}: {reason}")

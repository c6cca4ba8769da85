"""One round of a verified log, told to somebody who knows nothing of Merkle trees: chapters, each with its entry."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from client_agent.events import one_line
from fgpr.auditlog.entries import PriorPublished
from fgpr.auditlog.trail import RoundKey, Trail
from fgpr.errors import UnknownResource
from fgpr.federated.publication import PriorRecord
from fgpr.message import instant
from fgpr.secagg.messages import Plan
from fgpr.secagg.stages import RUNNING, Stage

MOST_NAMES = 12
"""Most names that are listed one by one."""


@dataclass(frozen=True)
class Chapter:
    """One thing that happened.

    Attributes:
        title: a short sentence.
        told: what it means, sentence by sentence.
        entry: its place in the log; None for what has not happened yet.
    """

    title: str
    told: tuple[str, ...]
    entry: int | None


def tell(trail: Trail, federation: str, number: int) -> tuple[Chapter, ...]:
    """The chapters of a round, in order; what the aggregator wrote moves no cursor and clears no screen.

    Raises:
        UnknownResource: the log has no such round.
    """
    key = federation, number
    if key not in trail.plans:
        last = trail.newest_round(federation)
        known = f"rounds 1 to {last}" if last else "no round yet"
        raise UnknownResource(f"the log has no round {number} of {federation}; it tells of {known}")
    chapters = [chapter for place, kind in trail.steps[key] for chapter in _of_leaf(trail, key, place, kind)]
    if trail.stages[key] in RUNNING:
        waits = "updates" if trail.stages[key] is Stage.CONTRIBUTING else "the committee to open their sum"
        chapters.append(Chapter(f"The round still runs: it waits for {waits}", (), None))
    return tuple(Chapter(one_line(one.title), tuple(map(one_line, one.told)), one.entry) for one in chapters)


def _of_leaf(trail: Trail, key: RoundKey, place: int, kind: str) -> list[Chapter]:
    match kind:
        case "plan":
            return [_announced(trail.plans[key].message, place)]
        case "cohort":
            return [_contributed(trail, key, place)]
        case "complaint":
            return [_complained(trail, key, place)]
        case "convicted":
            liar = next(client for (_, client), found in trail.revoked.items() if found == place)
            told = ("More members complained of it than can lie together. It is revoked by this entry.",)
            return [Chapter(f"{liar} was convicted", told, place)]
        case "aborted":
            return [Chapter("The round was given up", (f"The reason: {trail.aborted[key].reason}.",), place)]
        case "void":
            return [_void(trail, key, place)]
    return _priors(trail, key, place)


def _announced(plan: Plan, place: int) -> Chapter:
    seated = [seat.client for seat in plan.seats if seat.key is not None]
    empty = len(plan.seats) - len(seated)
    carried = plan.theta_version != plan.prior_version
    older = f", whose numbers are those of prior {plan.theta_version}" if carried else ""
    vacant = f", and {_count(empty, 'empty seat', 'empty seats')}" if empty else ""
    apart = f", in each of {plan.groups} groups that are opened apart" if plan.groups > 1 else ""
    committee = f"{plan.threshold} members of a committee of {len(plan.seats)}"
    told = [
        f"It starts from prior {plan.prior_version}{older}.",
        f"Invited, each to train on its own data and to send one update: {_names(plan.invited)}.",
        f"Every update is locked. No single one is ever opened, only their sum, by {committee} together; fewer cannot.",
        f"The committee: {_names(seated)}{vacant}.",
        f"At least {plan.min_cohort} updates have to be added up together{apart}.",
        f"Updates are taken until {_time(plan.contribute_until)}, openings until {_time(plan.open_until)}.",
    ]
    if plan.void:
        rounds = ", ".join(str(proof.cohort.message.round) for proof in plan.void)
        told.append(f"It takes the place of round {rounds}, of which members proved that nothing was opened.")
    return Chapter("The round was announced", tuple(told), place)


def _contributed(trail: Trail, key: RoundKey, place: int) -> Chapter:
    plan, cohort = trail.plans[key].message, trail.cohorts[key].message
    counted = [member.client for member in cohort.members]
    told = [f"Counted: {_names(counted)}."]
    for client in [client for client in plan.invited if client not in counted][:MOST_NAMES]:
        gone = trail.revoked.get((key[0], client), place)
        why = f", revoked by entry {gone}" if gone < place else ""
        told.append(f"Not counted: {client}{why}.")
    told.append("The log holds a fingerprint of each update, not the update: nobody can read one there.")
    title = f"{len(counted)} of {_count(len(plan.invited), 'invited client', 'invited clients')} contributed"
    return Chapter(title, tuple(told), place)


def _complained(trail: Trail, key: RoundKey, place: int) -> Chapter:
    # Both are in the order of the log.
    filed = [one.message for at, one in trail.complaints.items() if at[:2] == key]
    places = [at for at, kind in trail.steps[key] if kind == "complaint"]
    complaint = filed[places.index(place)]
    told = (
        f"What was sealed for it by {_names(complaint.accused())} does not open.",
        "One complaint proves nothing: either side may be lying.",
    )
    return Chapter(f"{complaint.client} complained", told, place)


def _void(trail: Trail, key: RoundKey, place: int) -> Chapter:
    names = [answer.client for answer in trail.void[key].openings]
    needed = trail.plans[key].message.threshold
    told = (
        f"They are {_names(names)}, and {needed} were needed: nobody can open anything of this round any more.",
        "The next round may start from the same prior.",
    )
    return Chapter(f"{len(names)} members proved that nothing was opened", told, place)


def _priors(trail: Trail, key: RoundKey, place: int) -> list[Chapter]:
    (version,) = [version for (_, version), (_, found) in trail.priors.items() if found == place]
    leaf, plan = trail.published[key[0], version], trail.plans[key].message
    record, title = leaf.prior.message, f"Prior {version} was published"
    if record.opened is None:
        why = "Nobody proved the round unopened, so that its old numbers count as a new version."
        return [Chapter(title, (why,), place)]
    stays = "too far a step, so that the old numbers stay"
    average = "the numbers that were published" if record.reason == "averaged" else stays
    updates = _count(record.opened.clients, "update", "updates")
    told = (
        f"It is made of {updates}, of weight {record.opened.total_weight} in all.",
        f"The sum that the committee opened stands in the log. Averaged again from it, bit for bit: {average}.",
        *numbers(record),
    )
    return [_opened(plan, leaf, place), Chapter(title, told, place)]


def _opened(plan: Plan, leaf: PriorPublished, place: int) -> Chapter:
    names = [answer.client for answer in leaf.openings]
    told = [f"They are {_names(names)}."]
    if leaf.spare:
        told.append(f"Up to {_count(leaf.spare, 'wrong opening', 'wrong openings')} would have shown.")
    else:
        told.append("That is exactly as many as were needed: a single wrong opening would not have shown.")
    if leaf.disputed:
        told.append(f"Wrong, and put right from the others: {_names(leaf.disputed)}. That convicts nobody.")
    times = [int.from_bytes(one.cosignature[:8], "big") for one in leaf.openings if one.cosignature is not None]
    first, last = _moment(min(times)), _moment(max(times))
    when = f"at {first}" if first == last else f"between {first} and {last}"
    told.append(
        f"With its opening each of them signed that it follows this log and no other one, {when} by its own clock."
    )
    return Chapter(f"{len(names)} members opened the sum, {plan.threshold} were needed", tuple(told), place)


def numbers(record: PriorRecord) -> tuple[str, ...]:
    """The hyper-parameters of a prior, one line each."""
    prior = record.prior()
    values = np.exp(prior.theta).tolist()
    told = zip(prior.spec.theta_names, values, strict=True)
    return tuple(one_line(f"{name} = {value:.6g}") for name, value in told)


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_NAMES])
    return shown if len(names) <= MOST_NAMES else f"{shown} and {len(names) - MOST_NAMES} more"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _time(text: str) -> str:
    return f"{instant(text):%Y-%m-%d %H:%M:%S} UTC"


def _moment(seconds: int) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return f"second {seconds}"

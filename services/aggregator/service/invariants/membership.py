"""Invariants 7 to 9: who is counted was enrolled, invited and not revoked, each by a ticket of its own."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeVar

from aggregator.service.invariants.evidence import Evidence, Round
from aggregator.service.invariants.invariant import Violation
from fgpr.auditlog.entries import (
    CohortClosed,
    ComplaintFiled,
    Convicted,
    Enrolled,
    KeyReplaced,
    Leaf,
    Revoked,
    RosterSigned,
    RoundAborted,
    RoundPlanned,
)

L = TypeVar("L", bound=Leaf)
Party = tuple[str, str]


def check_cohorts(found: Evidence) -> Iterator[Violation]:
    """7: cohort within invited within the roster's unrevoked, and these enrolled by the log before the roster."""
    revoked, enrolled = _revocations(found), _enrolments(found)
    for round_ in found.rounds.values():
        plan, name = round_.plan.message, round_.federation
        for client in sorted(round_.contributions.keys() - set(plan.invited)):
            yield Violation(7, f"{client} contributed to {round_} without an invitation")
        if round_.roster is not None:
            for client in sorted(set(plan.invited) - set(round_.roster.active())):
                yield Violation(7, f"{round_} invites {client}, who is not in its roster or is revoked there")
        if round_.cohort is None:
            continue
        cohort = round_.cohort.message
        for client in sorted(cohort.clients() - set(plan.invited)):
            yield Violation(7, f"the cohort of {round_} counts {client}, who was not invited")
        for client in sorted(cohort.clients()):
            if revoked.get((name, client), cohort.checkpoint.size) < cohort.checkpoint.size:
                yield Violation(7, f"the cohort of {round_} counts {client}, who was revoked before it was closed")
    for index, leaf in found.logged():
        if not isinstance(leaf, RosterSigned):
            continue
        roster = leaf.roster.message
        for entry in roster.clients:
            party = leaf.federation, entry.client
            if enrolled.get(party, index) >= index:
                yield Violation(7, f"roster {roster.version} of {leaf.federation} names {entry.client}: never enrolled")
            if not entry.revoked and revoked.get(party, roster.checkpoint.size) < roster.checkpoint.size:
                yield Violation(7, f"roster {roster.version} of {leaf.federation} hides that {entry.client} is revoked")


def check_revoked(found: Evidence) -> Iterator[Violation]:
    """8: nothing that came after a client's revocation by the log's order bears its name."""
    revoked = _revocations(found)
    plans = _places(found, RoundPlanned, lambda leaf: leaf.plan.message.round)
    closed = _places(found, CohortClosed, lambda leaf: leaf.cohort.message.round)
    aborted = _places(found, RoundAborted, lambda leaf: leaf.round)
    for (name, client), place in revoked.items():
        for key, round_ in found.rounds.items():
            if key[0] != name:
                continue
            if client in round_.contributions and plans.get(key, place) > place:
                yield Violation(8, f"{client} was revoked by leaf {place} and contributed to {round_} after that")
            answer = round_.openings.get(client)
            if answer is None:
                continue
            begun = closed if _is(round_, answer.message.cohort) else aborted
            if begun.get(key, place) > place:
                yield Violation(8, f"{client} was revoked by leaf {place} and opened {round_} after that")
    for place, leaf in found.logged():
        if isinstance(leaf, KeyReplaced):
            yield from _after_replacement(found, place, leaf, plans)
    for index, leaf in found.logged():
        if isinstance(leaf, ComplaintFiled):
            client = leaf.complaint.message.client
            if revoked.get((leaf.federation, client), index) < index:
                yield Violation(8, f"{client} was revoked and complained after that, leaf {index}")


def _after_replacement(
    found: Evidence, place: int, leaf: KeyReplaced, plans: dict[tuple[str, int], int]
) -> Iterator[Violation]:
    old = leaf.rotation.change.old_key
    for key, round_ in found.rounds.items():
        if key[0] != leaf.federation or plans.get(key, place) <= place or round_.roster is None:
            continue
        named = {entry.client: entry.identity_key for entry in round_.roster.clients}
        sent = leaf.client in round_.contributions or leaf.client in round_.openings
        if sent and named.get(leaf.client) == old:
            yield Violation(8, f"{leaf.client} took part in {round_} with a key that leaf {place} had replaced")


def _is(round_: Round, digest: bytes) -> bool:
    return round_.cohort is not None and round_.cohort.message.digest() == digest


def check_tickets(found: Evidence) -> Iterator[Violation]:
    """9: each taken ticket made one party with the key that took it, and each party has one."""
    keys = {
        (leaf.federation, leaf.client): leaf.identity_key for _, leaf in found.logged() if isinstance(leaf, Enrolled)
    }
    stored = {(row["federation"], row["client"]) for row in found.rows["clients"]}
    taken: dict[Party, list[bytes]] = {}
    for row in found.rows["tickets"]:
        if row["used_by"] is not None:
            taken.setdefault((row["federation"], row["client"]), []).append(row["used_by"])
    for name, client in sorted(taken.keys() | stored):
        by = taken.get((name, client), [])
        if (name, client) not in stored:
            yield Violation(9, f"a ticket of {client} in {name} was taken up, and nobody was enrolled")
        elif len(by) != 1:
            yield Violation(9, f"{client} of {name} is enrolled by {len(by)} tickets")
        elif keys.get((name, client), by[0]) != by[0]:
            yield Violation(9, f"another key took up the ticket of {client} in {name} than was enrolled")
    yield from _staff_tickets(found)


def _staff_tickets(found: Evidence) -> Iterator[Violation]:
    names = {row["name"] for row in found.rows["staff"]}
    taken = Counter(row["name"] for row in found.rows["staff_tickets"] if row["used_by"] is not None)
    for name in sorted(taken.keys() | names):
        if name not in names:
            yield Violation(9, f"a ticket of {name} was taken up, and nobody became operator or auditor")
        elif taken[name] != 1:
            yield Violation(9, f"{name} became operator or auditor by {taken[name]} tickets")


def _revocations(found: Evidence) -> dict[Party, int]:
    places: dict[Party, int] = {}
    for index, leaf in found.logged():
        if isinstance(leaf, Revoked | Convicted):
            places.setdefault((leaf.federation, leaf.client), index)
    return places


def _enrolments(found: Evidence) -> dict[Party, int]:
    places: dict[Party, int] = {}
    for index, leaf in found.logged():
        if isinstance(leaf, Enrolled):
            places.setdefault((leaf.federation, leaf.client), index)
    return places


def _places(found: Evidence, kind: type[L], number: Callable[[L], int]) -> dict[tuple[str, int], int]:
    return {
        (leaf.federation, number(leaf)): index
        for index, leaf in found.logged()
        if isinstance(leaf, kind) and leaf.federation is not None
    }

"""Pinned peers, a part of check 9 of a plan: who an owner wants beside its client, and who may be there at all.

Whoever holds the roster key can admit clients of their own making, and a sum over one honest client and strangers tells
that client's update. An owner who knows the others' key ids, from them and not from the aggregator, can rule this out:
by accepting nobody else. Requiring some does not: they stand in the roster, and need not be drawn beside the client.
"""

from fgpr.errors import PlanRefused
from fgpr.secagg.history import Floors
from fgpr.secagg.messages import Plan
from fgpr.secagg.roster import Roster
from fgpr.signatures import key_id

CHECK = 9


def check_peers(plan: Plan, roster: Roster, client: str, floors: Floors) -> None:
    """Check the roster of a plan, and whom the plan invites and seats, against the owner's lists.

    Args:
        plan: the plan.
        roster: the one that it names.
        client: whose owner it is; its own key is always accepted.
        floors: the owner's.

    Raises:
        PlanRefused: check 9; names the clients or key ids.
    """
    present = {key_id(entry.identity_key) for entry in roster.clients if not entry.revoked}
    absent = sorted(floors.required_peers - present)
    if absent:
        raise PlanRefused(CHECK, f"roster {roster.version} lacks peers that this client requires: {', '.join(absent)}")
    if floors.accepted_peers is None:
        return
    keys = {entry.client: key_id(entry.identity_key) for entry in roster.clients}
    taking_part = {*plan.invited, *(seat.client for seat in plan.seats)} - {client}
    strangers = sorted(name for name in taking_part if keys.get(name) not in floors.accepted_peers)
    if strangers:
        named = ", ".join(f"{name} (key id {keys.get(name, 'none')})" for name in strangers[:5])
        more = f" and {len(strangers) - 5} more" if len(strangers) > 5 else ""
        raise PlanRefused(CHECK, f"clients take part that this client does not accept: {named}{more}")

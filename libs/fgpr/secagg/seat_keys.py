"""Check 12 of a plan: the opening keys in its seats (the list is in `fgpr.secagg.checked_plan`)."""

from fgpr.errors import FgprError, PlanRefused
from fgpr.secagg.history import History
from fgpr.secagg.messages import Plan
from fgpr.secagg.roster import Roster


def check_seat_keys(plan: Plan, members: Roster, history: History) -> None:
    """Check 12.

    Raises:
        PlanRefused: check 12.
    """
    seen: set[bytes] = set()
    for seat in plan.seats:
        if seat.key is None:
            continue
        key = seat.key.message
        _require(
            (key.client, key.federation) == (seat.client, plan.federation),
            f"the key in {seat.client}'s seat is {key.client}'s of {key.federation}",
        )
        _require(key.suite == plan.suite, f"{key.client}'s opening key is of suite {key.suite}, not {plan.suite}")
        try:
            seat.key.verify(members.identity_key(seat.client))
        except FgprError as error:
            raise PlanRefused(12, str(error)) from error
        last = history.serials.get(key.client, 0)
        _require(key.serial >= last, f"{key.client}'s opening key fell from serial {last} to {key.serial}")
        _require(key.key not in seen, f"{key.client}'s opening key stands in another seat too")
        seen.add(key.key)


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise PlanRefused(12, reason)

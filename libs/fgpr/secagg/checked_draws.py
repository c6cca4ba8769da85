"""The draws of a plan, recomputed from its roster: parts of checks 7 and 10 of `fgpr.secagg.checked_plan`."""

from fgpr.errors import FgprError, PlanRefused
from fgpr.secagg import committee
from fgpr.secagg.groups import deal
from fgpr.secagg.history import History
from fgpr.secagg.messages import Plan
from fgpr.secagg.planning import draw_invited
from fgpr.secagg.roster import Roster


def check_declared(plan: Plan, members: Roster, history: History) -> None:
    """Check that every client by whose weight is drawn declared it, within the cap.

    Args:
        plan: the plan.
        members: its roster.
        history: what the client remembers.

    Raises:
        PlanRefused: check 7.
    """
    if plan.declared_cap is None:
        return
    try:
        # A signature for each client of the federation: once for each roster is enough.
        if not any(
            past.plan.roster_digest == plan.roster_digest and past.plan.draw == "weights" for past in history.rounds
        ):
            members.verify_declared()
        weights = members.weights()
    except FgprError as error:
        raise PlanRefused(7, str(error)) from error
    for client, weight in weights.items():
        if weight > plan.declared_cap:
            raise PlanRefused(7, f"{client} declared weight {weight}, above the cap {plan.declared_cap}")


def check_draws(plan: Plan, members: Roster, history: History) -> None:
    """Check that seats and invited clients are drawn, and groups dealt, as the roster's nonce says.

    Raises:
        PlanRefused: check 10.
    """
    # Each of these is another draw from a nonce that whoever makes the plan has seen: free to choose it, one can try
    # until the draw suits. What an earlier plan had was fixed before.
    for past in history.rounds:
        if past.plan.caps != plan.caps:
            raise PlanRefused(10, f"the caps, the groups or the kind of draw are not those of round {past.plan.round}")
    seats = committee.draw(members.servants(), plan.committee_cap, members.nonce, plan.theta_version, committee.SEAT)
    if tuple(seat.client for seat in plan.seats) != seats:
        raise PlanRefused(10, "the seats are not the drawn ones")
    if plan.invited != draw_invited(members, plan.draw, plan.invited_cap, plan.theta_version):
        raise PlanRefused(10, "the invited clients are not the drawn ones")
    if plan.dealt != deal(plan.invited, plan.groups, members.nonce, plan.theta_version):
        raise PlanRefused(10, "the groups are not the dealt ones")

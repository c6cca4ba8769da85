"""The checks of a plan that rest on the floors of the client's owner: 9, 14, and of 16 the noise."""

from fgpr.errors import OwnerConsentRequired, PlanRefused
from fgpr.secagg.encoding import Codec
from fgpr.secagg.history import Floors
from fgpr.secagg.messages import Plan
from fgpr.secagg.pinned_peers import check_peers
from fgpr.secagg.privacy_checks import check_noise
from fgpr.secagg.roster import Roster
from fgpr.secagg.suites import ORDER


def check_floors(plan: Plan, codec: Codec, floors: Floors) -> None:
    """Check 9, but for the peers.

    Raises:
        PlanRefused: check 9.
    """
    _require(plan.gamma >= floors.gamma, f"gamma {plan.gamma} is below this client's {floors.gamma}")
    _require(
        plan.min_cohort >= floors.min_cohort,
        f"min_cohort {plan.min_cohort} is below this client's {floors.min_cohort}",
    )
    _require(len(plan.seats) >= floors.committee, f"{len(plan.seats)} seats, this client asks for {floors.committee}")
    cap = max(codec.weight_cap, plan.declared_cap or 0)
    _require(cap <= floors.weight_cap, f"weight cap {cap} is above {floors.weight_cap}")
    _require(
        ORDER.index(plan.suite) >= ORDER.index(floors.suite),
        f"suite {plan.suite} is weaker than this client's {floors.suite}",
    )
    _require(plan.groups <= floors.groups, f"{plan.groups} groups are more than this client's {floors.groups}")


def check_carries(plan: Plan, floors: Floors) -> None:
    """Check 14.

    Raises:
        OwnerConsentRequired: check 14.
    """
    carries = plan.prior_version - plan.theta_version
    if carries > floors.carries:
        raise OwnerConsentRequired(
            f"check 14 of a plan: its prior was carried {carries} times in a row and this client allows "
            f"{floors.carries}; each carry lets one more sum of the same theta be opened, and the rule on differences "
            "compares two only. Ask the owner."
        )


def check_again(plan: Plan, roster: Roster, codec: Codec, client: str, floors: Floors) -> None:
    """Hold a plan that was checked before against floors that its owner may have raised since.

    Raises:
        PlanRefused: check 9 or 16.
        OwnerConsentRequired: check 14.
    """
    check_floors(plan, codec, floors)
    check_peers(plan, roster, client, floors)
    check_noise(plan, floors)
    check_carries(plan, floors)


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise PlanRefused(9, reason)

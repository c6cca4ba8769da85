"""What an aggregator in memory holds of one round."""

from dataclasses import dataclass, field

from fgpr.message import Signed
from fgpr.secagg.messages import Cohort, Complaint, Contribution, Opening, Plan
from fgpr.secagg.opening import Unmasked
from fgpr.secagg.roster import Roster
from fgpr.secagg.stages import Stage


@dataclass
class RoundState:
    """Signed documents and stored bodies, as plain values."""

    plan: Signed[Plan]
    roster: Signed[Roster]
    stage: Stage = Stage.CONTRIBUTING
    contributions: dict[str, Contribution] = field(default_factory=dict)
    openings: dict[str, Signed[Opening]] = field(default_factory=dict)
    complaints: dict[str, Signed[Complaint]] = field(default_factory=dict)
    cohort: Signed[Cohort] | None = None
    empty: Signed[Cohort] | None = None
    unmasked: Unmasked | None = None

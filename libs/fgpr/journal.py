"""The files of an agent's journal that others may read: its owner, and an operator to whom it was handed.

    HOME/rounds/000007/plan.json           `SeenPlan`
    HOME/rounds/000007/contribution.json   the body of the one contribution, byte for byte
    HOME/rounds/000007/opening.json        `Answer`

None of them holds a private key, an update or a mask. `client_agent.journal` writes them.
"""

from fgpr.message import Bytes, Message, Signed
from fgpr.secagg.messages import Cohort, Plan
from fgpr.secagg.roster import Roster

ROUNDS = "rounds"
PLAN, CONTRIBUTION, OPENING = "plan.json", "contribution.json", "opening.json"


class SeenPlan(Message):
    """A plan that passed every check, and the roster that it names."""

    plan: Signed[Plan]
    roster: Signed[Roster]


class Answer(Message):
    """The one cohort that a member opened in a round, and the body of its opening."""

    cohort: Signed[Cohort]
    body: Bytes

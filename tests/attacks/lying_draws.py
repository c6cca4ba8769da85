"""Rows 6 and 6c: a malicious aggregator, also one that holds the roster key, and the draws, by heads and weights."""

from attacks.attack import Attack, on_client
from attacks.scene import CLIENTS, ME, Scene
from fgpr.message import Signed
from fgpr.secagg import committee
from fgpr.secagg.declared_weight import DeclaredWeight
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.roster import Roster
from support.client import NAME
from support.federation import Federation

RULES = AggregationRules(draw="weights", weighting="uniform", invited_cap=4)
LIGHTEST = "client-00"


def _federation() -> Federation:
    return Federation(CLIENTS, RULES)


def _picked(scene: Scene) -> str:
    plan = scene.plan()
    left_out = next(name for name in scene.federation.names if name not in plan.invited)
    others = [name for name in plan.invited if name != ME]
    scene.lie(invited=tuple(sorted((*others[1:], left_out, ME))))
    return scene.victim().contribute()


def _by_heads(scene: Scene) -> str:
    scene.round()
    plan, roster = scene.plan(), scene.federation.roster.message
    heads = committee.draw(roster.active(), 4, roster.nonce, plan.theta_version, committee.INVITED)
    scene.lie(draw="heads", declared_cap=None, invited=heads)
    return scene.victim().contribute()


def _reweighed(scene: Scene) -> str:
    # Everything holds but the client's own signature: roster, draw and numbers follow from the new weight.
    federation = scene.federation
    weight = DeclaredWeight(federation=NAME, client=LIGHTEST, weight=60)
    declared = Signed[DeclaredWeight].make(federation.roster_key, weight)
    roster = federation.roster.message
    lines = tuple(
        line.model_copy(update={"declared": declared}) if line.client == LIGHTEST else line for line in roster.clients
    )
    federation.roster = Signed[Roster].make(federation.roster_key, roster.model_copy(update={"clients": lines}))
    scene.plan()
    return scene.victim().contribute()


def _caps_that_suit(scene: Scene) -> str:
    # A roster signed elsewhere: the aggregator has seen its nonce, and takes the committee that suits.
    scene.round()
    federation = scene.federation
    federation.roster = federation.new_roster(2)
    federation.rules = federation.rules.model_copy(update={"committee_cap": 4})
    scene.plan()
    return scene.victim().contribute()


ATTACKS: list[Attack] = [
    on_client(
        "6c", "clients drawn by weight, the invited picked by hand", "plan check 10", _picked, federation=_federation
    ),
    on_client("6c", "one roster drawn by weight, then by heads", "plan check 10", _by_heads, federation=_federation),
    on_client("6", "a fresh roster, and a cap that suits its nonce", "plan check 10", _caps_that_suit),
    on_client("6c", "another weight than a client declared", "plan check 7", _reweighed, federation=_federation),
]

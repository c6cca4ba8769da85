"""Rows 6, 8 and 11: what a malicious aggregator puts into plan, roster, prior and log, before anything is sent."""

from attacks.attack import Attack, on_client
from attacks.scene import ME, Scene
from fgpr.auditlog import entries
from fgpr.message import Signed
from fgpr.secagg.messages import OpeningKey, VoidProof
from fgpr.secagg.roster import Roster, RosterEntry
from fgpr.secagg.stages import Event


def _own_opening_key(scene: Scene) -> str:
    plan = scene.plan()
    seat = plan.seats[3]
    assert seat.key is not None
    federation = scene.federation
    own = seat.key.message.model_copy(update={"key": federation.clients[ME].new_key().message.key})
    key = Signed[OpeningKey].make(federation.service_key, own)
    scene.lie(seats=(*plan.seats[:3], seat.model_copy(update={"key": key}), *plan.seats[4:]))
    return scene.victim().contribute()


def _old_opening_key(scene: Scene) -> str:
    old = scene.federation.keys["client-03"]
    # A serial falls only for who has seen a later one: in the plan of the second round.
    scene.round()
    scene.round()
    plan = scene.plan()
    seat = plan.seats[3].model_copy(update={"key": old})
    scene.lie(seats=(*plan.seats[:3], seat, *plan.seats[4:]))
    return scene.victim().contribute()


def _sybil(scene: Scene) -> str:
    scene.plan()
    state, federation = scene.federation.now, scene.federation
    line = RosterEntry(client="sybil", identity_key=bytes(32), may_serve=True, revoked=False, declared=None)
    roster = state.roster.message.model_copy(update={"clients": (*state.roster.message.clients, line)})
    state.roster = Signed[Roster].make(federation.service_key, roster)
    scene.lie(roster_digest=roster.digest())
    return scene.victim().contribute()


def _seats_left_out(scene: Scene) -> str:
    plan = scene.plan()
    scene.lie(seats=plan.seats[:3], threshold=3)
    return scene.victim().contribute()


def _keys_hidden(scene: Scene) -> str:
    plan = scene.plan()
    empty = tuple(seat.model_copy(update={"key": None}) for seat in plan.seats[3:])
    scene.lie(seats=(*plan.seats[:3], *empty), threshold=3)
    return scene.victim().contribute()


def _invited_by_hand(scene: Scene) -> str:
    plan = scene.plan()
    scene.lie(invited=plan.invited[:4])
    return scene.victim().contribute()


def _one_corrupt_less(scene: Scene) -> str:
    scene.plan()
    scene.lie(gamma=0.1)
    return scene.victim().contribute()


def _second_plan(scene: Scene) -> str:
    scene.plan()
    assert scene.victim().contribute() == "contributed"
    scene.lie(open_until="2031-03-09T22:00:00.000Z")
    return scene.victim().contribute()


def _another_prior(scene: Scene) -> str:
    scene.plan()
    shown = scene.federation.prior
    scene.victim().show_prior(shown.model_copy(update={"theta": tuple(0.5 + value for value in shown.theta)}))
    return scene.victim().contribute()


def _forked_log(scene: Scene) -> str:
    scene.round()
    leaves = scene.federation.log.leaves
    # The plan that everybody contributed to is gone from the log; a revocation that nobody saw stands there.
    leaves[1] = entries.Revoked(federation=scene.now.federation, client="client-03", by="operator").encode()
    scene.plan()
    return scene.victim().contribute()


def _no_void_proof(scene: Scene) -> str:
    scene.plan()
    assert scene.victim().contribute() == "contributed"
    scene.federation.abort(Event.TOO_FEW_CONTRIBUTIONS)
    scene.plan()
    return scene.victim().contribute()


def _thin_void_proof(scene: Scene) -> str:
    plan = scene.plan()
    assert scene.victim().contribute() == "contributed"
    federation = scene.federation
    federation.abort(Event.TOO_FEW_CONTRIBUTIONS)
    for name in ("client-02", "client-03", "client-04"):
        federation.open(name)
    state = federation.now
    assert state.empty is not None
    assert len(state.openings) == plan.threshold - 1
    scene.plan(void=(VoidProof(cohort=state.empty, openings=tuple(state.openings.values())),))
    return scene.victim().contribute()


def _carried_twice(scene: Scene) -> str:
    for _ in range(2):
        scene.plan()
        scene.federation.abort(Event.TOO_FEW_CONTRIBUTIONS)
        scene.federation.settle()
    scene.plan()
    return scene.victim().contribute()


ATTACKS: list[Attack] = [
    on_client("6", "a seat's opening key swapped for the aggregator's own", "plan check 12", _own_opening_key),
    on_client("6", "an old opening key put back into its seat", "plan check 12", _old_opening_key),
    on_client("6", "a sybil in a roster that the roster key did not sign", "plan check 7", _sybil),
    on_client("6", "seats left out, the threshold lowered", "plan check 10", _seats_left_out),
    on_client("6", "opening keys hidden, the threshold lowered", "plan check 8", _keys_hidden),
    on_client("6", "invited clients picked by hand", "plan check 10", _invited_by_hand),
    on_client("6", "fewer corrupt clients assumed than the owner allows", "plan check 9", _one_corrupt_less),
    on_client("8", "a second plan for a round", "plan check 2", _second_plan),
    on_client("8", "another prior than the plan's", "plan check 5", _another_prior),
    on_client("8", "a log that was rewritten", "plan check 13", _forked_log),
    on_client("11", "a second contribution for one prior, nothing proven void", "plan check 4", _no_void_proof),
    on_client("11", "a void proof of too few members", "plan check 4", _thin_void_proof),
    on_client("11", "one theta carried twice in a row", "plan check 14: the owner is asked", _carried_twice),
]

"""Rows 6b, 7, 8, 9, 11 and 13: what a malicious aggregator asks a member to open."""

import dataclasses

from attacks.attack import Attack, on_client
from attacks.scene import ME, THETA, Scene
from fgpr.message import Signed
from fgpr.secagg import opening
from fgpr.secagg.contributor import boxes_root, contribute
from fgpr.secagg.messages import Cohort, Contribution, Header
from fgpr.secagg.stages import Event
from support import malice

VICTIM = "client-03"


def _contributed(scene: Scene) -> None:
    scene.plan()
    scene.contribute()


def _counting(scene: Scene, stored: dict[str, Contribution]) -> Signed[Cohort]:
    """A cohort of these contributions, signed."""
    plan = scene.now
    headers = {name: made.header.message for name, made in stored.items()}
    cohort = opening.cohort_of(plan, plan.digest(), headers, plan.checkpoint)
    return Signed[Cohort].make(scene.federation.service_key, cohort)


def _recounted(scene: Scene, **fields: object) -> Signed[Cohort]:
    cohort = scene.federation.cohort_of(scene.federation.names).message.model_copy(update=fields)
    return Signed[Cohort].make(scene.federation.service_key, cohort)


def _swapped_boxes(scene: Scene) -> str:
    _contributed(scene)
    cohort = scene.federation.cohort_of(scene.federation.names)
    stored = dict(scene.federation.now.contributions)
    outcomes = set()
    for name in scene.federation.names:
        scene.federation.now.contributions = stored
        outcomes.add(scene.ask(cohort, malice.swapped_but_one(scene.federation, name, VICTIM), name))
    return ", ".join(sorted(outcomes))


def _swapped_boxes_signed_again(scene: Scene) -> str:
    _contributed(scene)
    federation = scene.federation
    swapped = malice.swapped_but_one(federation, ME, VICTIM)
    stored = {name: made if name == VICTIM else _signed_again(made, scene) for name, made in swapped.items()}
    return scene.ask(_counting(scene, stored), stored)


def _signed_again(made: Contribution, scene: Scene) -> Contribution:
    header = made.header.message.model_copy(update={"boxes": boxes_root(made.boxes)})
    return made.model_copy(update={"header": Signed[Header].make(scene.federation.service_key, header)})


def _second_cohort(scene: Scene) -> str:
    _contributed(scene)
    assert scene.ask(scene.federation.cohort_of(scene.federation.names)) == "opened"
    return scene.ask(scene.federation.cohort_of(scene.federation.names[:4]))


def _second_cohort_after_restart(scene: Scene) -> str:
    _contributed(scene)
    assert scene.ask(scene.federation.cohort_of(scene.federation.names)) == "opened"
    scene.victim().restart()
    return scene.ask(scene.federation.cohort_of(scene.federation.names[1:]))


def _empty_after_whole(scene: Scene) -> str:
    _contributed(scene)
    assert scene.ask(scene.federation.cohort_of(scene.federation.names)) == "opened"
    return scene.ask(scene.federation.cohort_of(()))


def _one_client(scene: Scene) -> str:
    _contributed(scene)
    return scene.ask(scene.federation.cohort_of([VICTIM]))


def _one_below_the_least(scene: Scene) -> str:
    _contributed(scene)
    return scene.ask(scene.federation.cohort_of(scene.federation.names[: scene.now.min_cohort - 1]))


def _counted_twice(scene: Scene) -> str:
    _contributed(scene)
    (line,) = scene.federation.cohort_of([VICTIM]).message.members
    return scene.ask(_recounted(scene, members=(line,) * 3))


def _stranger_counted(scene: Scene) -> str:
    _contributed(scene)
    federation = scene.federation
    members = federation.cohort_of(federation.names).message.members
    stranger = members[4].model_copy(update={"client": "sybil"})
    sent = federation.now.contributions
    return scene.ask(_recounted(scene, members=(*members[:4], stranger)), sent | {"sybil": sent["client-04"]})


def _revoked_counted(scene: Scene) -> str:
    _contributed(scene)
    scene.federation.revoke("client-04")
    return scene.ask(_recounted(scene, checkpoint=scene.federation.log.position()))


def _members_split(scene: Scene) -> str:
    # client-00 is the aggregator's; half of the others are asked for one cohort first, half for the other.
    scene.plan()
    scene.contribute()
    federation = scene.federation
    cohorts = (federation.cohort_of(federation.names), federation.cohort_of(federation.names[1:]))
    answers = [1, 1]
    for place, name in enumerate(federation.names[1:]):
        for which in (place % 2, 1 - place % 2):
            answers[which] += scene.ask(cohorts[which], name=name) == "opened"
    return f"{answers[0]} and {answers[1]} of {scene.now.threshold} answers"


def _two_plans(scene: Scene) -> str:
    # client-04 was shown another plan of the round, and its contribution is counted under this one.
    scene.plan()
    scene.contribute(but=["client-04"])
    federation = scene.federation
    other = scene.now.model_copy(update={"spare": 3})
    checked = dataclasses.replace(federation.check("client-04"), plan=other, digest=other.digest())
    key = federation.clients["client-04"].identity_key
    made = contribute(checked, "client-04", key, THETA, 10, federation.random_bytes).contribution
    stored = federation.now.contributions | {"client-04": made}
    return scene.ask(_counting(scene, stored), stored)


def _replayed(scene: Scene) -> str:
    scene.plan()
    scene.contribute()
    federation = scene.federation
    old = federation.now.contributions[VICTIM]
    federation.close()
    assert scene.victim().open() == "opened"
    for name in federation.names:
        if name != ME:
            federation.open(name)
    federation.finish()
    _contributed(scene)
    stored = federation.now.contributions | {VICTIM: old}
    return scene.ask(_counting(scene, stored), stored)


def _copied_boxes(scene: Scene) -> str:
    # A client in league with the aggregator sends another one's boxes as its own: twice the same mask in the sum.
    _contributed(scene)
    federation = scene.federation
    stolen = federation.now.contributions[VICTIM]
    mine = federation.now.contributions["client-04"].header.message
    header = mine.model_copy(update={"boxes": stolen.header.message.boxes, "masked": stolen.header.message.masked})
    signed = Signed[Header].make(federation.clients["client-04"].identity_key, header)
    stored = federation.now.contributions | {"client-04": stolen.model_copy(update={"header": signed})}
    return scene.ask(_counting(scene, stored), stored)


def _carried_but_one(scene: Scene) -> str:
    _contributed(scene)
    federation = scene.federation
    federation.close()
    assert scene.victim().open() == "opened"
    federation.abort(Event.TOO_FEW_OPENINGS)
    federation.settle()
    _contributed(scene)
    return scene.ask(federation.cohort_of([name for name in federation.names if name != VICTIM]))


ATTACKS: list[Attack] = [
    on_client("6b", "all boxes but one client's swapped, each member asked", "cohort check 7", _swapped_boxes),
    on_client("6b", "the same, headers signed again by the aggregator", "cohort check 6", _swapped_boxes_signed_again),
    on_client("7", "a second cohort of the round", "cohort check 9", _second_cohort, "only what was sent before"),
    on_client(
        "7",
        "a second cohort after a restart",
        "cohort check 9",
        _second_cohort_after_restart,
        "only what was sent before",
    ),
    on_client(
        "7", "the empty cohort after another one", "cohort check 9", _empty_after_whole, "only what was sent before"
    ),
    on_client("7", "a cohort of one client", "cohort check 5", _one_client),
    on_client("7", "a cohort one client below the least", "cohort check 5", _one_below_the_least),
    on_client("7", "one client counted three times", "cohort check 4", _counted_twice),
    on_client("7", "a client counted that was not invited", "cohort check 4", _stranger_counted),
    on_client("7", "a revoked client counted", "cohort check 6", _revoked_counted),
    on_client("7", "members split between two cohorts, x in league", "3 and 3 of 4 answers", _members_split),
    on_client("8", "a client counted that was shown another plan", "cohort check 6", _two_plans),
    on_client("9", "a contribution of an earlier round counted again", "cohort check 6", _replayed),
    on_client("9", "one client's boxes sent as another one's", "cohort check 8", _copied_boxes),
    on_client("11", "after a carry, the same clients but one", "cohort check 10", _carried_but_one),
]

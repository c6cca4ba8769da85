"""Row 11: a malicious aggregator that wants more than one sum of one prior version, to combine them."""

from attacks.attack import Attack, on_client
from attacks.scene import ME, THETA, Scene
from fgpr.secagg.stages import Event
from support.colluding import four_cohorts


def _four_cohorts() -> str:
    answers, threshold = four_cohorts()
    return f"{answers[0]} and {answers[1]} of {threshold} answers"


def _opened_but_did_not_contribute(scene: Scene) -> str:
    # What each member that is asked for two of the four sees: a second plan of a prior of which it opened a cohort.
    scene.plan()
    federation = scene.federation
    others = [name for name in federation.names if name != ME]
    for name in others:
        federation.contribute(name, THETA)
    assert scene.ask(federation.cohort_of(others)) == "opened"
    federation.abort(Event.TOO_FEW_OPENINGS)
    scene.plan()
    return scene.victim().contribute()


ATTACKS: list[Attack] = [
    Attack(
        "11",
        "A2",
        "two of four cohorts that isolate a client, opened from one prior version with x in league",
        {"memory": "45 and 27 of 45 answers"},
        {"memory": lambda _: _four_cohorts()},
        "each honest member is the one of the next row",
    ),
    on_client(
        "11",
        "a second plan of a prior, nothing proven void, for a member that opened only",
        "plan check 4",
        _opened_but_did_not_contribute,
    ),
]

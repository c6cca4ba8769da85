"""Row 8b: a malicious aggregator makes clients add less noise than the federation was created with."""

from typing import Any

from attacks.attack import Attack, on_client
from attacks.scene import CLIENTS, Scene
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.privacy import PrivacyRules, PrivacyTerms
from support.federation import Federation

RULES = AggregationRules(weighting="uniform", min_cohort=4, privacy=PrivacyRules(clip=0.5, noise=4.0))


def _noised(scene: Scene) -> PrivacyTerms:
    """A second round of a federation under differential privacy."""
    scene.federation = Federation(CLIENTS, RULES)
    scene.round()
    terms = scene.plan().differential_privacy
    assert terms is not None
    return terms


def _with_terms(scene: Scene, **fields: Any) -> str:
    terms = _noised(scene)
    scene.lie(differential_privacy=terms.model_copy(update=fields))
    return scene.victim().contribute()


def _no_lie(scene: Scene) -> str:
    _noised(scene)
    return scene.victim().contribute()


def _lower_noise(scene: Scene) -> str:
    return _with_terms(scene, sigma=2**20)


def _wider_clip(scene: Scene) -> str:
    return _with_terms(scene, clip=2**30)


def _no_noise(scene: Scene) -> str:
    _noised(scene)
    scene.lie(differential_privacy=None)
    return scene.victim().contribute()


def _many_carriers(scene: Scene) -> str:
    return _with_terms(scene, carriers=3_000)


def _large_cohort_in_name(scene: Scene) -> str:
    terms = _noised(scene)
    # No round could ever count that many; the noise would be split among them all the same.
    scene.lie(min_cohort=3_001, differential_privacy=terms.model_copy(update={"carriers": 3_000}))
    return scene.victim().contribute()


def _another_origin(scene: Scene) -> str:
    terms = _noised(scene)
    moved = tuple(number + 0.1 for number in terms.origin)
    scene.lie(differential_privacy=terms.model_copy(update={"origin": moved}))
    return scene.victim().contribute()


ATTACKS: list[Attack] = [
    on_client("8b", "a plan with the noise of the rules, for comparison", "contributed", _no_lie),
    on_client("8b", "a plan that lowers the noise", "plan check 16", _lower_noise),
    on_client("8b", "a plan that widens the clip", "plan check 16", _wider_clip),
    on_client("8b", "a plan that leaves the noise out", "plan check 16", _no_noise),
    on_client("8b", "noise shared among clients that are not there", "plan check 15", _many_carriers),
    on_client(
        "8b", "a min_cohort that nobody can fill, so that each adds little", "plan check 8", _large_cohort_in_name
    ),
    on_client("8b", "differences counted from another vector", "plan check 15", _another_origin),
]

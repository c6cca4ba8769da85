"""Rows 6, 7 and 14 where the clients are dealt to groups: other deals, groups of one, and liars that are outvoted."""

from collections.abc import Callable
from pathlib import Path

from attacks.attack import Attack, on_client
from attacks.liars import WRONG_SHARE, LyingCodec, bad_boxes
from attacks.round_of_liars import InMemoryRound, RoundOfLiars, round_over_http
from attacks.scene import Scene
from fgpr.message import Signed
from fgpr.secagg.groups import deal
from fgpr.secagg.messages import Cohort
from fgpr.secagg.planning import AggregationRules
from support.federation import Federation

RULES = AggregationRules(groups=3, combine="median")
CLIENTS = 15
"""Three groups of five; all of the five have to be there."""

LIAR = 2
LARGEST = 2**30 - 1


def _federation() -> Federation:
    return Federation(CLIENTS, RULES)


def _on_round(row: str, name: str, expected: str, play: Callable[[RoundOfLiars], str]) -> Attack:
    def network(folder: Path) -> str:
        with round_over_http(folder, RULES) as made:
            return play(made)

    plays: dict[str, Callable[[Path], str]] = {
        "memory": lambda _: play(InMemoryRound(CLIENTS, RULES)),
        "HTTP": network,
    }
    return Attack(row, "C1", name, dict.fromkeys(plays, expected), plays)


# A malicious aggregator


def _other_deal(scene: Scene) -> str:
    plan = scene.plan()
    scene.lie(dealt=deal(plan.invited, 3, bytes(32), 0))
    return scene.victim().contribute()


def _two_moved(scene: Scene) -> str:
    # Two clients change places, so that sizes stay and one group holds whom the aggregator likes.
    dealt = list(scene.plan().dealt)
    other = next(place for place, number in enumerate(dealt) if number != dealt[0])
    dealt[0], dealt[other] = dealt[other], dealt[0]
    scene.lie(dealt=tuple(dealt))
    return scene.victim().contribute()


def _too_small(scene: Scene) -> str:
    plan = scene.plan()
    scene.lie(groups=5, dealt=deal(plan.invited, 5, scene.federation.roster.message.nonce, 0), min_cohort=3)
    return scene.victim().contribute()


def _contributed(scene: Scene) -> None:
    scene.plan()
    scene.contribute()


def _group_of_one(scene: Scene) -> str:
    _contributed(scene)
    first, *others = scene.now.parts(scene.federation.names)
    counted = {first[0], *(name for part in others for name in part)}
    return scene.ask(scene.federation.cohort_of(sorted(counted)))


def _one_group(scene: Scene) -> str:
    _contributed(scene)
    return scene.ask(scene.federation.cohort_of(scene.now.parts(scene.federation.names)[0]))


def _in_two_groups(scene: Scene) -> str:
    _contributed(scene)
    cohort = scene.federation.cohort_of(scene.federation.names).message
    twice = cohort.model_copy(update={"members": (*cohort.members, cohort.members[0])})
    return scene.ask(Signed[Cohort].make(scene.federation.service_key, twice))


def _another_deal_for_one_member(scene: Scene) -> str:
    _contributed(scene)
    scene.lie(dealt=deal(scene.now.invited, 3, bytes(32), 0))
    return scene.ask(scene.federation.cohort_of(scene.federation.names))


# Malicious clients


def _poisoned(liars: int, vector: tuple[int, ...]) -> Callable[[RoundOfLiars], str]:
    def play(made: RoundOfLiars) -> str:
        made.contribute_all(codecs={made.names[LIAR + number]: LyingCodec(vector) for number in range(liars)})
        return made.open_all({})

    return play


def _bad_shares(made: RoundOfLiars) -> str:
    made.contribute_all({made.names[LIAR]: bad_boxes(made.mends + 1, WRONG_SHARE)})
    return made.open_all({})


AT_BOUNDS = (65_535 * LARGEST,) * 3 + (65_535,)
"""Everything at its upper bound with the largest weight: in range."""

ATTACKS: list[Attack] = [
    on_client("6", "clients dealt to groups by another hash", "plan check 10", _other_deal, federation=_federation),
    on_client("6", "two clients of different groups swapped", "plan check 10", _two_moved, federation=_federation),
    on_client("6", "groups too small to hide in", "plan check 8", _too_small, federation=_federation),
    on_client("7", "a group of one client, the others whole", "cohort check 5", _group_of_one, federation=_federation),
    on_client("7", "one group alone", "cohort check 5", _one_group, federation=_federation),
    on_client("7", "a client counted in two groups", "cohort check 4", _in_two_groups, federation=_federation),
    on_client(
        "8",
        "one member shown another deal than the others",
        "plan check 2",
        _another_deal_for_one_member,
        federation=_federation,
    ),
    _on_round("14", "a poisoned update inside the bounds, outvoted by groups", "published", _poisoned(1, AT_BOUNDS)),
    _on_round("14", "a weight above the cap, in one group", "published", _poisoned(1, (0, 0, 0, 2**40))),
    _on_round("14", "more wrong shares than can be mended, in one group", "published", _bad_shares),
]

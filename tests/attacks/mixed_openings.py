"""Row 7: members shown different cohorts, no t of them the same, so that their answers add up to something else."""

from attacks.attack import Attack, on_client
from attacks.scene import Scene
from fgpr.secagg.field import MERSENNE_61
from support.federation import Federation
from support.mixed_answers import learned, pooled

CORRUPT = "client-03"
LOW = ("client-00", "client-01", "client-02")
HIGH = ("client-04", "client-05", "client-06")
SHOWN = {
    "client-01": LOW,
    "client-05": LOW,
    "client-00": HIGH,
    "client-06": HIGH,
    "client-02": LOW + HIGH,
    "client-04": LOW + HIGH,
}
"""Whom the cohort counts that each honest one of seven members is asked to open. With floor((c + x) / 2) + 1 = 5
openings a combination of the two sums would follow in any field: these seats lie evenly around that of the corrupt."""


def show(scene: Scene) -> None:
    """A round in which everybody contributes and each honest member opens the cohort that it is shown."""
    scene.plan()
    scene.contribute()
    for name, counted in SHOWN.items():
        assert scene.ask(scene.federation.cohort_of(counted), name=name) == "opened"


def _mixed(scene: Scene) -> str:
    show(scene)
    for number in range(4):
        if learned(MERSENNE_61, scene.now.threshold, pooled(scene.federation, [CORRUPT], SHOWN, number)):
            return f"a combination of sums of number {number} is known"
    return "nothing learned"


ATTACKS: list[Attack] = [
    on_client(
        "7",
        "two cohorts and both together shown to thirds of the members, x in league",
        "nothing learned",
        _mixed,
        federation=lambda: Federation(7),
    )
]

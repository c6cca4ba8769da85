"""What is checked when an example ends and its faults have stopped."""

from datetime import timedelta

from aggregator.service import inspection
from fgpr.errors import FgprError
from fgpr.secagg.stages import Stage
from machine.violation import Violation, require
from machine.world import World
from support.aggregator import OPEN_SECONDS

TICK = 1.0


def check(world: World) -> None:
    """Let every deadline pass, then hold the whole database against log and model.

    Raises:
        Violation: an invariant is broken.
    """
    world.look()
    _end_rounds(world)
    try:
        inspection.verify_database(world.observer, world.anchors())
    except FgprError as error:
        raise Violation(12, f"the database does not verify: {error}") from error


def _end_rounds(world: World) -> None:
    """I16: each stage that is reached ends by its deadline and a tick."""
    for _ in range(3):
        number = world.seen.last
        if not number:
            return
        found = world.seen.rounds[number]
        if found.stage is Stage.CONTRIBUTING:
            due = found.contribute_until
        elif found.stage is Stage.OPENING:
            due = found.open_until
        elif found.stage is Stage.ABORTED and any(place[0] == number for place in world.seen.contributions):
            assert found.ended_at is not None
            due = found.ended_at + timedelta(seconds=OPEN_SECONDS)
        else:
            return
        world.clock.now = max(world.clock(), due + timedelta(seconds=TICK))
        world.tick()
        world.look()
        stage = world.seen.rounds[number].stage
        require(stage is not found.stage, 16, f"round {number} is in stage {stage} a tick past its deadline")

"""What is checked when an example ends and its faults have stopped."""

from datetime import timedelta

from aggregator.service import checking
from aggregator.service.invariants.evidence import Handed
from fgpr.secagg.stages import Stage
from machine.violation import Violation, require
from machine.world import World
from support.aggregator import OPEN_SECONDS
from support.client import NAME
from support.forged_database import as_kept

TICK = 1.0


def check(world: World) -> None:
    """Let every deadline pass, then hold the whole database against log and model.

    Raises:
        Violation: an invariant is broken.
    """
    world.look()
    _end_rounds(world)
    found = checking.check(
        world.observer, world.clock(), world.model.service_key, {NAME: world.roster_key}, _handed(world)
    )
    if found:
        raise Violation(found[0].number, "; ".join(f"{one.number}: {one.what}" for one in found))


def _handed(world: World) -> Handed:
    service, roster = world.keys.service(), world.keys.roster(NAME)
    checkpoints = {f"step {place}": position for place, position in enumerate(world.model.positions)}
    secrets = {"the service key": service.private_bytes_raw(), "the roster key": roster.private_bytes_raw()}
    if world.went_back:
        # What clients know of the time that a backup took back is lost, as the operator was told.
        return Handed(checkpoints=checkpoints, secrets=secrets)
    journals = [
        as_kept(agent, service, roster, name=name, enrolled=agent.is_enrolled, receipts=agent.receipts)
        for name, agent in world.agents.items()
    ]
    return Handed(checkpoints=checkpoints, journals=journals, secrets=secrets)


def _end_rounds(world: World) -> None:
    """17: each stage that is reached ends by its deadline and a tick."""
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
        require(stage is not found.stage, 17, f"round {number} is in stage {stage} a tick past its deadline")

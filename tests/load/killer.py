"""Kills one replica after another with SIGKILL, and starts it again at once."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from load.processes import Replica, listens

EVERY_SECONDS = 10.0
LOOK_SECONDS = 0.1


@dataclass
class Kills:
    """How often it did; the next one that is killed follows from it."""

    count: int = 0


@asynccontextmanager
async def killing(replicas: Sequence[Replica], kills: Kills, every: float = EVERY_SECONDS) -> AsyncIterator[None]:
    """While the block runs: the first kill after half of that time, so that short rounds are hit as well."""

    async def kill() -> None:
        await asyncio.sleep(every / 2)
        while True:
            victim = replicas[kills.count % len(replicas)]
            victim.kill()
            victim.start()
            kills.count += 1
            began = time.monotonic()
            # One is away at a time, however long it takes to start.
            while not listens(victim.port):
                await asyncio.sleep(LOOK_SECONDS)
            await asyncio.sleep(max(0.0, began + every - time.monotonic()))

    task = asyncio.create_task(kill())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

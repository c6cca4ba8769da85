"""Kills one replica after another with SIGKILL, and starts it again at once."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from load.processes import Replica

EVERY_SECONDS = 10.0


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
            await asyncio.sleep(every)

    task = asyncio.create_task(kill())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

"""Open-loop load: every client comes when it is scheduled, whatever the aggregator does; its time counts from then."""

import asyncio
import itertools
import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from dataclasses import dataclass, field

from load.crowd import Crowd, PreparedRound, in_turn
from load.requests import Answer, Connection, Request, Writer
from load.visits import AGAIN, FIRST, requests_of

THINKING_SECONDS = 0.1
BREATH_SECONDS = 1.0
RETRY_SECONDS = 0.25
WARMING = 40
PATIENCE = 120.0
PASSING = {429, 502, 503, 504}

_STATE = re.compile(rb'"state":"([^"]*)"')

Ready = dict[str, tuple[Request, bytes]]
"""What one client sends, by endpoint: the request, and its bytes."""


@dataclass
class Seen:
    """What came of a round.

    Attributes:
        seconds: latencies by endpoint.
        refused: answers that were neither good nor worth another try, by endpoint and status.
        retried: requests that were sent again after a broken connection or a 5xx.
        acknowledged: clients whose contribution was acknowledged.
        counted: members whose opening was.
        sent: bytes to the aggregator.
        received: bytes from it.
        wall: seconds from the first scheduled request to the last client's prior.
        driver: CPU seconds of the driver meanwhile.
        closed_at: when the last contribution was acknowledged.
        published_at: when the last opening that counted was.
    """

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    refused: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    retried: int = 0
    acknowledged: set[str] = field(default_factory=set)
    counted: set[str] = field(default_factory=set)
    sent: int = 0
    received: int = 0
    wall: float = 0.0
    driver: float = 0.0
    closed_at: float = 0.0
    published_at: float = 0.0


class Load:
    """One round of a crowd.

    Args:
        crowd: the clients.
        prepared: their round.
        origin: public address of the aggregator.
        ports: where it is reached, in turn.
        arrivals: seconds over which the clients come.
        thinking: seconds between the scheduled first look of a client and its scheduled contribution.
        beside: what happens meanwhile, begun before the first client comes.
    """

    def __init__(
        self,
        crowd: Crowd,
        prepared: PreparedRound,
        origin: str,
        ports: Sequence[int],
        *,
        arrivals: float,
        thinking: float = THINKING_SECONDS,
        beside: Sequence[AbstractAsyncContextManager[None]] = (),
    ) -> None:
        self._prepared = prepared
        self._arrivals = in_turn(prepared.plan.invited, arrivals)
        self._thinking = thinking
        self._ports = itertools.cycle(ports)
        self._beside = beside
        self._began = 0.0
        keys = {name: crowd.clients[name].identity_key for name in prepared.plan.invited}
        self._writers = {name: Writer(origin, key, prepared.epoch) for name, key in keys.items()}
        self.seen = Seen()

    def run(self) -> Seen:
        """Sign everything, then let them come."""
        ready = {name: self.write(name) for name in self._arrivals}
        asyncio.run(self._all(ready))
        return self.seen

    def write(self, name: str) -> Ready:
        """Everything that a client will send, signed now."""
        writer = self._writers[name]
        return {request.endpoint: (request, writer.write(request)) for request in requests_of(self._prepared, name)}

    async def _all(self, ready: dict[str, Ready]) -> None:
        async with AsyncExitStack() as beside:
            for one in self._beside:
                await beside.enter_async_context(one)
            await self._warm(ready)
            cpu, self._began = time.process_time(), time.monotonic()
            async with asyncio.TaskGroup() as group:
                for name, delay in self._arrivals.items():
                    group.create_task(self._live(name, self._began + delay, ready[name]))
            self.seen.wall = time.monotonic() - self._began
            self.seen.driver = time.process_time() - cpu

    async def _warm(self, ready: dict[str, Ready]) -> None:
        """Looks at the round by some clients at once: an aggregator that has just started has no connections yet."""
        some = list(ready.values())[:WARMING]
        connections = [Connection(self._ports) for _ in some]
        for _ in range(2):
            await asyncio.gather(
                *(_answered(one, raw["current"][1]) for one, raw in zip(connections, some, strict=True))
            )
        for one in connections:
            one.close()

    async def _live(self, name: str, at: float, ready: Ready) -> None:
        seen = self.seen
        life = _Life(Connection(self._ports), self._writers[name], seen)
        due = at + self._thinking
        await _until(at)
        for endpoint in FIRST:
            await life.ask(*ready[endpoint], at)
            at = time.monotonic()
        await _until(due)
        if (await life.ask(*ready["contribution"], due)).status == 200:
            seen.acknowledged.add(name)
            seen.closed_at = time.monotonic()
        await life.change(*ready["told of the cohort"], lambda: seen.closed_at)
        if name in self._prepared.answers:
            for endpoint in AGAIN:
                await life.ask(*ready[endpoint], time.monotonic())
            answer = await life.ask(*ready["opening"], time.monotonic())
            if answer.status == 200 and json.loads(answer.body)["counted"]:
                seen.counted.add(name)
                seen.published_at = time.monotonic()
        await life.change(*ready["told of the prior"], lambda: seen.published_at)
        await life.ask(*ready["prior again"], time.monotonic())
        life.close()


class _Life:
    """One client's connection, with what it sees."""

    def __init__(self, connection: Connection, writer: Writer, seen: Seen) -> None:
        self._connection, self._writer, self._seen = connection, writer, seen

    async def ask(self, request: Request, raw: bytes, scheduled: float) -> Answer:
        """Send until there is an answer; its time counts from when it was scheduled."""
        answer = await self._send(request, raw)
        self._seen.seconds[request.endpoint].append(time.monotonic() - scheduled)
        return answer

    async def change(self, request: Request, raw: bytes, changed: Callable[[], float]) -> None:
        """Wait for a change; its time counts from when that was acknowledged to whoever brought it about."""
        end, asked = time.monotonic() + PATIENCE, time.monotonic()
        while True:
            answer = await self._send(request, raw)
            state = _STATE.search(answer.body)
            if answer.status != 200 or (state is not None and state[1] != request.seen.encode()):
                break
            assert time.monotonic() < end, f"{request.endpoint}: nothing changed"
            # As an agent does that is answered at once although nothing has changed.
            await _until(asked + BREATH_SECONDS)
            asked, raw = time.monotonic(), self._writer.write(request)
        since = max(asked, changed())
        self._seen.seconds[request.endpoint].append(max(0.0, time.monotonic() - since))

    def close(self) -> None:
        """Close its connection."""
        self._connection.close()

    async def _send(self, request: Request, raw: bytes) -> Answer:
        end = time.monotonic() + PATIENCE
        while True:
            answer = await _answered(self._connection, raw)
            self._seen.sent += len(raw)
            if answer is not None:
                self._seen.received += answer.size
                if answer.status not in PASSING:
                    break
            assert time.monotonic() < end, f"{request.endpoint}: no answer"
            self._seen.retried += 1
            await asyncio.sleep(RETRY_SECONDS)
            raw = self._writer.write(request)
        if answer.status != 200:
            self._seen.refused[f"{request.endpoint} {answer.status}"] += 1
        return answer


async def _answered(connection: Connection, raw: bytes) -> Answer | None:
    # Killed, most likely; what it did or did not do shows when the same is sent again.
    with suppress(OSError, asyncio.IncompleteReadError):
        return await connection.exchange(raw)
    return None


async def _until(moment: float) -> None:
    await asyncio.sleep(max(0.0, moment - time.monotonic()))

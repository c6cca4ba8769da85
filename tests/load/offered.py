"""Open-loop load: every client comes when it is scheduled, whatever the aggregator does; its time counts from then."""

import asyncio
import json
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from load.crowd import Crowd, PreparedRound, in_chunks
from load.requests import PATH, Answer, Connection, Request, Writer

WAIT_SECONDS = 30
RETRY_SECONDS = 0.25
PATIENCE = 120.0
PASSING = {429, 502, 503, 504}

_STATE = re.compile(rb'"state":"([^"]*)"')


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
        arrivals: seconds over which the clients come.
        thinking: seconds between the scheduled first look of a client and its scheduled contribution.
    """

    def __init__(self, crowd: Crowd, prepared: PreparedRound, origin: str, *, arrivals: float, thinking: float) -> None:
        self._prepared = prepared
        self._arrivals = in_chunks(prepared.plan.invited, arrivals)
        self._thinking = thinking
        self._origin = urlsplit(origin)
        self._writers = {
            name: Writer(origin, crowd.clients[name].identity_key, prepared.epoch) for name in prepared.plan.invited
        }
        self.seen = Seen()

    def run(self) -> Seen:
        """Sign everything, then let them come."""
        ready = {name: self._write(name) for name in self._arrivals}
        asyncio.run(self._all(ready))
        return self.seen

    def _write(self, name: str) -> "dict[str, tuple[Request, bytes]]":
        writer = self._writers[name]
        return {request.endpoint: (request, writer.write(request)) for request in self._requests(name)}

    def _requests(self, name: str) -> Iterator[Request]:
        prepared, plan = self._prepared, self._prepared.plan
        size = prepared.log_size
        contributing, opening = (f"seen={state}&wait={WAIT_SECONDS}" for state in prepared.waiting)
        yield Request("current", "GET", f"{PATH}/rounds/current")
        yield Request("prior", "GET", f"{PATH}/priors/{plan.prior_version}")
        yield Request("roster", "GET", f"{PATH}/rosters/{plan.roster_version}", signed=False)
        yield Request("checkpoint", "GET", "/v1/log/checkpoint", signed=False)
        proof = f"/v1/log/consistency?old={plan.checkpoint.size}&new={size}"
        yield Request("consistency", "GET", proof, signed=False)
        upload = f"{PATH}/rounds/{plan.round}/contributions/{name}"
        yield Request("contribution", "PUT", upload, prepared.uploads[name])
        yield Request("told of the cohort", "GET", f"{PATH}/rounds/current?{contributing}")
        if name in prepared.answers:
            yield Request("cohort", "GET", f"{PATH}/rounds/{plan.round}/cohort")
            yield Request("checkpoint again", "GET", "/v1/log/checkpoint", signed=False)
            proof = f"/v1/log/consistency?old={size}&new={size + 1}"
            yield Request("consistency again", "GET", proof, signed=False)
            leaves = f"/v1/log/entries?start={prepared.log_start}&end={size}"
            yield Request("entries", "GET", leaves, signed=False)
            answer = f"{PATH}/rounds/{plan.round}/openings/{name}"
            yield Request("opening", "PUT", answer, prepared.answers[name])
        yield Request("told of the prior", "GET", f"{PATH}/rounds/current?{opening}")
        yield Request("prior again", "GET", f"{PATH}/priors/latest")

    async def _all(self, ready: "dict[str, dict[str, tuple[Request, bytes]]]") -> None:
        cpu, self._began = time.process_time(), time.monotonic()
        async with asyncio.TaskGroup() as group:
            for name, delay in self._arrivals.items():
                group.create_task(self._live(name, delay, ready[name]))
        self.seen.wall = time.monotonic() - self._began
        self.seen.driver = time.process_time() - cpu

    async def _live(self, name: str, delay: float, ready: "dict[str, tuple[Request, bytes]]") -> None:
        life = _Life(Connection(self._origin.hostname or "", self._origin.port or 80), self._writers[name], self.seen)
        at = self._began + delay
        await _until(at)
        for endpoint in ("current", "prior", "roster", "checkpoint", "consistency"):
            await life.ask(*ready[endpoint], at)
            at = time.monotonic()
        due = self._began + delay + self._thinking
        await _until(due)
        if (await life.ask(*ready["contribution"], due)).status == 200:
            self.seen.acknowledged.add(name)
            self.seen.closed_at = time.monotonic()
        await life.change(*ready["told of the cohort"], lambda: self.seen.closed_at)
        if name in self._prepared.answers:
            for endpoint in ("cohort", "checkpoint again", "consistency again", "entries"):
                await life.ask(*ready[endpoint], time.monotonic())
            answer = await life.ask(*ready["opening"], time.monotonic())
            if answer.status == 200 and json.loads(answer.body)["counted"]:
                self.seen.counted.add(name)
                self.seen.published_at = time.monotonic()
        await life.change(*ready["told of the prior"], lambda: self.seen.published_at)
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

    async def change(self, request: Request, raw: bytes, changed: "object") -> None:
        """Wait for a change; its time counts from when that was acknowledged to whoever brought it about."""
        seen = re.search(r"seen=([^&]*)", request.path)
        assert seen is not None
        end = time.monotonic() + PATIENCE
        asked = time.monotonic()
        while True:
            answer = await self._send(request, raw)
            state = _STATE.search(answer.body)
            if answer.status != 200 or (state is not None and state[1] != seen[1].encode()):
                break
            assert time.monotonic() < end, f"{request.endpoint}: nothing changed"
            asked, raw = time.monotonic(), self._writer.write(request)
        since = max(asked, changed())  # type: ignore[operator]
        self._seen.seconds[request.endpoint].append(max(0.0, time.monotonic() - since))

    def close(self) -> None:
        """Close its connection."""
        self._connection.close()

    async def _send(self, request: Request, raw: bytes) -> Answer:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                answer = await self._connection.exchange(raw)
            except (OSError, asyncio.IncompleteReadError):
                answer = None
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


async def _until(moment: float) -> None:
    await asyncio.sleep(max(0.0, moment - time.monotonic()))

"""An aggregator as a forked process of one thread: requests go in by a pipe, through its whole HTTP application.

One thread, so that the statements and system calls of a request come in one order each time; a fork, so that it starts
within milliseconds and can be killed as any process can.
"""

import asyncio
import logging
import os
import pickle
import select
import signal
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn

import anyio.to_thread
import httpx
import structlog

from aggregator import main
from aggregator.deadlines import Deadlines
from aggregator.service import enrolment
from aggregator.service.context import Context
from aggregator.settings import Settings
from fgpr.errors import FgprError
from kills.tripwire import Tripwire
from support.aggregator import Clock
from support.client import NAME

LOOK_SECONDS = 0.01
"""Between two looks whether a process was stopped."""

_LENGTH = struct.Struct(">Q")


class Died(Exception):
    """The process is gone, and with it the answer."""


@dataclass(frozen=True)
class Failed:
    """What an act of the operator raised."""

    reason: str


class AggregatorProcess:
    """One process.

    Args:
        settings: its settings.
        prepare: done in it before it starts.

    Attributes:
        pid: of the process.
        alive: whether it was not killed yet.
        when_stopped: done each time that it was stopped before it answered; it goes on afterwards.
    """

    def __init__(self, settings: Settings, prepare: Callable[[], None]) -> None:
        self.when_stopped: Callable[[], None] | None = None
        down, up = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(down[1])
            os.close(up[0])
            _live(settings, prepare, down[0], up[1])
        os.close(down[0])
        os.close(up[1])
        self._write, self._read = down[1], up[0]
        self.alive = True

    def ask(self, now: datetime, command: str, *arguments: Any) -> Any:
        """Have something done at that time; what came of it.

        Raises:
            Died: it was killed before it could answer, or slept meanwhile.
        """
        if not self.alive:
            raise Died
        try:
            send(self._write, (now, command, arguments))
            slept = self.when_stopped is not None and self._attend(self.when_stopped)
            answer = receive(self._read)
        except (BrokenPipeError, EOFError) as error:
            self._reap()
            raise Died from error
        if slept:
            # Nobody waited for it.
            raise Died
        return answer

    def stop(self) -> None:
        """End it in good order."""
        if self.alive:
            with suppress(Died):
                self.ask(datetime.min, "stop")
            self.kill()

    def kill(self) -> None:
        """End it at once."""
        if self.alive:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self._reap()

    def _attend(self, when_stopped: Callable[[], None]) -> bool:
        slept = False
        while not select.select([self._read], [], [], LOOK_SECONDS)[0]:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            if pid and os.WIFSTOPPED(status):
                when_stopped()
                os.kill(self.pid, signal.SIGCONT)
                slept = True
        return slept

    def _reap(self) -> None:
        os.waitpid(self.pid, 0)
        os.close(self._write)
        os.close(self._read)
        self.alive = False


def send(pipe: int, value: Any) -> None:
    """Write one value to a pipe."""
    raw = pickle.dumps(value)
    left = memoryview(_LENGTH.pack(len(raw)) + raw)
    while left:
        left = left[os.write(pipe, left) :]


def receive(pipe: int) -> Any:
    """Read one value from a pipe.

    Raises:
        EOFError: the other side is gone.
    """
    # Only this program writes to it.
    return pickle.loads(_read(pipe, _LENGTH.unpack(_read(pipe, _LENGTH.size))[0]))  # noqa: S301


def _read(pipe: int, count: int) -> bytes:
    parts = b""
    while len(parts) < count:
        part = os.read(pipe, count - len(parts))
        if not part:
            raise EOFError
        parts += part
    return parts


def _live(settings: Settings, prepare: Callable[[], None], read: int, write: int) -> NoReturn:
    try:
        prepare()
        quiet()
        # It starts with the first request, so that whoever traces it sees that, too.
        first = receive(read)
        clock = Clock()
        context = main.create_context(settings, clock)
        _Aggregator(settings, context, clock).serve(first, read, write)
    except EOFError:
        pass
    finally:
        os._exit(0)


def quiet() -> None:
    """What the aggregator tells its operator is not part of the table."""
    logging.disable(logging.CRITICAL)
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())


async def _inline(act: Callable[..., Any], *arguments: Any, **_: Any) -> Any:
    return act(*arguments)


class _Aggregator:
    def __init__(self, settings: Settings, context: Context, clock: Clock) -> None:
        anyio.to_thread.run_sync = _inline  # type: ignore[assignment]  # one thread for all
        self._context, self._clock = context, clock
        self._tripwire = Tripwire(context.database.engine)
        app = main.create_app(settings, context)
        self._transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        self._loop = asyncio.new_event_loop()

    def serve(self, request: tuple[datetime, str, tuple[Any, ...]], read: int, write: int) -> None:
        while True:
            now, command, arguments = request
            self._clock.now = now
            try:
                answer = getattr(self, f"do_{command}")(*arguments)
            except FgprError as error:
                answer = Failed(f"{type(error).__name__}: {error}")
            send(write, answer)
            if command == "stop":
                return
            request = receive(read)

    def do_http(self, method: str, url: str, headers: list[tuple[bytes, bytes]], content: bytes) -> Any:
        return self._loop.run_until_complete(
            self._respond(httpx.Request(method, url, headers=headers, content=content))
        )

    async def _respond(self, request: httpx.Request) -> Any:
        response = await self._transport.handle_async_request(request)
        return response.status_code, response.headers.raw, await response.aread()

    def do_look(self) -> None:
        Deadlines(self._context, 1.0).look()

    def do_invite(self, name: str) -> str:
        return enrolment.invite(self._context, NAME, name, "client").to_text()

    def do_revoke(self, name: str) -> None:
        enrolment.revoke(self._context, NAME, name)

    def do_nothing(self) -> None:
        return

    def do_arm(self, at: int, sent: signal.Signals = signal.SIGKILL) -> None:
        self._tripwire.arm(at, sent)

    def do_seen(self) -> list[str]:
        return self._tripwire.seen

    def do_stop(self) -> None:
        self._context.database.close()

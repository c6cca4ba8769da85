"""One aggregator process: the whole application, middleware included, called without a socket."""

import asyncio
import dataclasses
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar
from unittest import mock
from urllib.parse import unquote

import anyio.to_thread
import httpx
from starlette.types import Receive, Scope, Send

from aggregator import main
from aggregator.deadlines import Deadlines
from aggregator.routes.wiring import Wiring
from aggregator.service import restoring
from aggregator.service.context import Context
from aggregator.service.readiness import ReadinessCheck
from aggregator.settings import Settings
from aggregator.storage import migrate
from machine.faults import Crash, Fault, Fuse, MortalDatabase

T = TypeVar("T")


class Shell:
    """Routes, middleware and an event loop: program, not state. Building them takes longer than many requests.

    What they know of a process is in `app.state.aggregator`, which each process makes anew.
    """

    def __init__(self, settings: Settings, context: Context) -> None:
        self.app = main.create_app(settings, context)
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(_told)

    def close(self) -> None:
        """Close the loop."""
        self.loop.close()


class Process:
    """A process that serves until it is killed. Nothing but the database and the keys outlives it.

    Args:
        settings: of every process.
        clock: the present time, aware.
        random_bytes: its generator.
        before: an earlier process, which is gone, and whose place this one takes.
        shell: another process's routes, where there is none before.

    Raises:
        VerificationError: the log does not continue a checkpoint that is known outside the database.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], datetime],
        random_bytes: Callable[[int], bytes],
        before: "Process | None" = None,
        shell: Shell | None = None,
    ) -> None:
        context = main.create_context(settings, clock, random_bytes)
        self.database: MortalDatabase = MortalDatabase(settings.database, None if before is None else before.database)
        self.context: Context = dataclasses.replace(context, database=self.database)
        try:
            # What `create_app` checks, too, before it serves.
            migrate.check_schema(self.database)
            main.check_known(settings, self.context)
            self.shell: Shell = before.shell if before is not None else shell or Shell(settings, self.context)
            known: Wiring = self.shell.app.state.aggregator
            self._wiring = dataclasses.replace(
                known,
                context=self.context,
                waiting=threading.BoundedSemaphore(settings.waiters),
                readiness=ReadinessCheck(self.context),
                epoch=restoring.epoch(self.context),
            )
        except BaseException:
            self.close()
            raise
        self._deadlines = Deadlines(self.context, 1.0)

    def close(self) -> None:
        """What the system does with a process that is gone."""
        self.database.close()

    def arm(self, fault: Fault, commits: int) -> None:
        """Let it be killed at one of the next commits."""
        self.database.fuse = Fuse(commits, after=fault is Fault.CRASH_AFTER)

    def disarm(self) -> None:
        """It lives on."""
        self.database.fuse = None

    def tick(self) -> dict[str, str]:
        """What the deadlines do at each tick; what failed, by federation or act.

        Raises:
            Crash: the process was killed.
        """
        self._deadlines.look()
        return dict(self._deadlines._faults)

    def answer(self, request: httpx.Request) -> httpx.Response:
        """Serve one request.

        Raises:
            Crash: the process was killed before it answered.
        """
        target = request.url.raw_path.partition(b"?")
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": "http",
            "path": unquote(target[0].decode("ascii")),
            "raw_path": target[0],
            "query_string": target[2],
            "root_path": "",
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "client": ("127.0.0.1", 40000),
            "server": ("127.0.0.1", 80),
            "state": {},
        }
        sent: list[Any] = []
        parts = [{"type": "http.request", "body": request.read(), "more_body": False}]

        async def receive() -> Any:
            if parts:
                return parts.pop()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        with mock.patch.object(anyio.to_thread, "run_sync", _at_once):
            self._serve(scope, receive, send, sent)
        start = next(message for message in sent if message["type"] == "http.response.start")
        body = b"".join(message.get("body", b"") for message in sent if message["type"] == "http.response.body")
        return httpx.Response(start["status"], headers=start["headers"], content=body)

    def _serve(self, scope: Scope, receive: Receive, send: Send, sent: list[Any]) -> None:
        try:
            self.shell.app.state.aggregator = self._wiring
            self.shell.loop.run_until_complete(self.shell.app(scope, receive, send))
        except asyncio.CancelledError as gone:
            # Bodies are stored in a task of their own: killed there, the process answers no request that waits for it.
            if self.database.dead:
                raise Crash from gone
            raise
        except Exception:
            # Starlette raises again what it answered with 500.
            if not sent:
                raise


def _told(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    # That a process was killed is nothing unforeseen.
    if not isinstance(context.get("exception"), Crash):
        loop.default_exception_handler(context)


async def _at_once(function: Callable[..., T], *arguments: Any, **_options: Any) -> T:
    """Routes run in threads; with one request at a time these add nothing but waiting."""
    return function(*arguments)

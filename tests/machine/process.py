"""One aggregator process: the whole application, middleware included, called without a socket."""

import asyncio
import dataclasses
from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import unquote

import httpx
from fastapi import FastAPI

from aggregator import main
from aggregator.deadlines import Deadlines
from aggregator.service.context import Context
from aggregator.settings import Settings
from machine.faults import Crash, Fault, Fuse, MortalDatabase


class Process:
    """A process that serves until it is killed. Nothing but the database and the keys outlives it.

    Raises:
        VerificationError: the log does not continue a checkpoint that is known outside the database.
    """

    def __init__(
        self, settings: Settings, clock: Callable[[], datetime], random_bytes: Callable[[int], bytes]
    ) -> None:
        context = main.create_context(settings, clock, random_bytes)
        self.database = MortalDatabase(settings.database)
        self.context: Context = dataclasses.replace(context, database=self.database)
        self._loop = asyncio.new_event_loop()
        try:
            self._app: FastAPI = main.create_app(settings, self.context)
        except BaseException:
            self.close()
            raise
        self._deadlines = Deadlines(self.context, 1.0)

    def close(self) -> None:
        """What the system does with a process that is gone."""
        self.database.close()
        self._loop.close()

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

        try:
            self._loop.run_until_complete(self._app(scope, receive, send))
        except Crash:
            raise
        except Exception:
            # Starlette raises again what it answered with 500.
            if not sent:
                raise
        start = next(message for message in sent if message["type"] == "http.response.start")
        body = b"".join(message.get("body", b"") for message in sent if message["type"] == "http.response.body")
        return httpx.Response(start["status"], headers=start["headers"], content=body)

"""kill -9 at the n-th step of an agent's life: at each write, fsync, rename, link, removal and request, in its process.

A step stands before a call and, of a request, also in its middle and behind it. A file of the home is written in two
halves, and a request sent in two, so that a kill meets both half done.
"""

import hashlib
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpcore
import httpx

from client_agent.api import Api

_CALLS = ("fsync", "link", "replace", "rename", "unlink", "rmdir", "mkdir")


class Tripwire:
    """Counts the steps of a life, and ends it at one of them.

    Args:
        home: of the agent; what happens elsewhere on disk is no step.
        at: the step at which it dies, from 1; None lets it live.
        notes: a folder beside the home: the step at which it died, each step of a whole life, digests of bodies sent.
    """

    def __init__(self, home: Path, at: int | None, notes: Path) -> None:
        self._home, self._at, self._notes = str(home), at, notes
        self._count = 0
        self._names: dict[int, str] = {}
        self.steps: list[str] = []

    def arm(self) -> None:
        """Stand between the agent and its calls from now on."""
        for name in _CALLS:
            self._guard(name)
        self._guard_opening()
        self._guard_requests()

    def step(self, what: str) -> None:
        """One step; the life may end here."""
        self._count += 1
        self.steps.append(what)
        if self._count == self._at:
            (self._notes / "died").write_text(what)
            os.kill(os.getpid(), signal.SIGKILL)

    def _guard(self, name: str) -> None:
        real: Callable[..., Any] = getattr(os, name)

        def guarded(target: Any, *more: Any, **options: Any) -> Any:
            place = self._place(target)
            if place is not None:
                self.step(f"{name} {place}")
            return real(target, *more, **options)

        setattr(os, name, guarded)

    def _guard_opening(self) -> None:
        real_open, real_fdopen = os.open, os.fdopen

        def guarded_open(path: Any, flags: int, *more: Any, **options: Any) -> int:
            place = self._place(path)
            if place is not None and flags & os.O_CREAT:
                self.step(f"open {place}")
            descriptor = real_open(path, flags, *more, **options)
            if place is not None:
                self._names[descriptor] = place
            return descriptor

        def guarded_fdopen(descriptor: int, *more: Any, **options: Any) -> Any:
            file = real_fdopen(descriptor, *more, **options)
            place = self._names.get(descriptor)
            return file if place is None else _Halved(file, lambda: self.step(f"half written {place}"))

        os.open, os.fdopen = guarded_open, guarded_fdopen  # type: ignore[assignment]

    def _guard_requests(self) -> None:
        real_handle = httpx.HTTPTransport.handle_request
        real_write = httpcore._backends.sync.SyncStream.write
        real_put = Api.put

        def handle(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
            what = _request(request)
            self.step(f"before {what}")
            response = real_handle(transport, request)
            self.step(f"answered {what}")
            return response

        def write(stream: Any, buffer: bytes, timeout: float | None = None) -> None:
            half = len(buffer) // 2
            real_write(stream, buffer[:half], timeout)
            self.step("half sent")
            real_write(stream, buffer[half:], timeout)

        def put(api: Api, path: str, body: bytes) -> bytes:
            with (self._notes / "sent").open("a") as sent:
                sent.write(f"{path} {hashlib.sha256(body).hexdigest()}\n")
            return real_put(api, path, body)

        httpx.HTTPTransport.handle_request = handle  # type: ignore[method-assign]
        httpcore._backends.sync.SyncStream.write = write  # type: ignore[method-assign]
        Api.put = put  # type: ignore[method-assign]

    def _place(self, target: Any) -> str | None:
        """The name of a file of the home, without what differs from life to life; None for others."""
        if isinstance(target, int):
            return self._names.get(target)
        text = os.fspath(target)
        if not str(text).startswith(self._home):
            return None
        name = re.sub(r"\d+\.key\b.*", "N.key", Path(text).name)
        return re.sub(r"\.\d+$", "", re.sub(r"^\d{6}$", "N", name)) or "home"


class _Halved:
    """A file that is written in two halves."""

    def __init__(self, file: Any, between: Callable[[], None]) -> None:
        self._file, self._between = file, between

    def write(self, raw: bytes) -> int:
        half = len(raw) // 2
        self._file.write(raw[:half])
        self._file.flush()
        self._between()
        self._file.write(raw[half:])
        return len(raw)

    def __enter__(self) -> "_Halved":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _request(request: httpx.Request) -> str:
    path = re.sub(r"/\d+", "/N", request.url.path)
    return f"{request.method} {path.rpartition('/v1/')[2]}"

"""Each request gets an id, one line in the log, and its place in the counters."""

import hashlib
import re
import secrets
import time
from collections.abc import Callable, Iterator

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aggregator.metrics import Metrics

HEADER = "X-Request-Id"

NO_ROUTE = "none"
"""The route of a request that has none, in log and counters: paths that somebody invents are not told."""

IDS_AT_ONCE = 256
"""Request ids that are drawn together: the system's generator lets other threads run each time it is asked."""

_WELL_FORMED = re.compile(r"[A-Za-z0-9_.-]{8,64}")
_log = structlog.get_logger(__name__)


class Observed:
    """ASGI middleware; the outermost but for the answer to an unforeseen failure.

    Args:
        app: what it observes.
        metrics: where it counts.
        log_requests: whether it writes a line for each request.
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics, log_requests: bool) -> None:
        self._app = app
        self._metrics = metrics
        self._log_requests = log_requests
        self._ids = _fresh_ids()
        self._line: Callable[..., object] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state["request_id"] = request_id(Headers(scope=scope).get(HEADER, ""), self._ids)
        status = 500

        async def tell(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[HEADER] = state["request_id"]
            await send(message)

        began = time.perf_counter()
        try:
            await self._app(scope, receive, tell)
        finally:
            self._record(scope, status, time.perf_counter() - began)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        state, method, route = scope["state"], scope["method"], template(scope)
        self._metrics.answered(method, route, status, seconds, state.get("problem"))
        if self._log_requests:
            if self._line is None:
                # Bound at the first request, when logging is configured, and not at each one.
                self._line = _log.bind().info
            self._line(
                "request",
                request_id=state["request_id"],
                method=method[:16],
                route=route,
                status=status,
                milliseconds=round(1000 * seconds, 1),
                caller=caller_digest(state.get("key_id")),
                problem=state.get("problem"),
            )


def request_id(given: str, fresh: Iterator[str]) -> str:
    """The client's own id where it has 8 to 64 letters, digits, dots, dashes and underscores; else a fresh one."""
    return given if _WELL_FORMED.fullmatch(given) else next(fresh)


def _fresh_ids() -> Iterator[str]:
    while True:
        drawn = secrets.token_hex(8 * IDS_AT_ONCE)
        for start in range(0, len(drawn), 16):
            yield drawn[start : start + 16]


def template(scope: Scope) -> str:
    """The template of the route that took the request, such as /v1/log/entries."""
    path: str | None = getattr(scope.get("route"), "path", None)
    if path is None:
        return NO_ROUTE
    # FastAPI names the route as its own router does, without the prefix of the routers around it.
    versioned = scope["path"].removeprefix(scope.get("root_path", "")).startswith("/v1/")
    return f"/v1{path}" if versioned and not path.startswith("/v1/") else path


def caller_digest(key_id: str | None) -> str | None:
    """What the log tells of a caller whose signature held: enough to find its other lines, not who it is."""
    return None if key_id is None else hashlib.sha256(b"fgpr-log\0" + key_id.encode()).hexdigest()[:16]

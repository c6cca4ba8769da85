"""What may come in: senders within their allowance, plain bodies, in time, and not too many of them at once."""

import asyncio
import ipaddress
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aggregator import problems
from aggregator.token_buckets import TokenBuckets
from fgpr.errors import FgprError, TooSlow, Unavailable

PROBES = ("/livez", "/readyz")
"""Paths that cost nothing and are asked for by whoever keeps the process alive: no allowance."""


class Bodies:
    """ASGI middleware between `Observed` and the routes.

    Args:
        app: the routes.
        prefix: path of the public address: a proxy may strip it or not.
        addresses: allowance of each address.
        seconds: time for a body, from the end of the request's header.
        rate: bytes that gain one more second; a body is as slow as this at most.
        most_bytes: of bodies that are held in memory at one time.
    """

    def __init__(
        self, app: ASGIApp, *, prefix: str, addresses: TokenBuckets, seconds: float, rate: int, most_bytes: int
    ) -> None:
        self._app = app
        self._prefix = prefix
        self._addresses = addresses
        self._seconds = seconds
        self._rate = rate
        self._most_bytes = most_bytes
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["root_path"] = self._prefix
        body = _Body(scope, receive, self._seconds, self._rate, self._hold)
        try:
            refusal = self._refusal(scope)
            if refusal is None:
                await self._app(scope, body.receive, body.sending(send))
            else:
                await refusal(scope, receive, body.sending(send))
        finally:
            self._held -= body.received

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        headers = Headers(scope=scope)
        coding = headers.get("content-encoding", "identity").strip().lower()
        transfer = headers.get("transfer-encoding", "chunked").strip().lower()
        if coding != "identity" or transfer != "chunked":
            # A few bytes may unpack into more than the memory holds.
            return problems.unsupported("bodies are sent as they are: no gzip and no other coding", scope)
        if scope["path"].removeprefix(self._prefix) in PROBES:
            return None
        try:
            self._addresses.take(sender(scope))
        except FgprError as error:
            return problems.problem(error, scope)
        return None

    def _hold(self, size: int) -> None:
        self._held += size
        if self._held > self._most_bytes:
            raise Unavailable("too many bodies are coming in at this time")


class _Body:
    """The body of one request as it comes in."""

    def __init__(self, scope: Scope, receive: Receive, seconds: float, rate: int, hold: Callable[[int], None]) -> None:
        self._receive = receive
        self._seconds = seconds
        self._rate = rate
        self._hold = hold
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        headers = Headers(scope=scope)
        self._complete = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
        self.received = 0

    async def receive(self) -> Message:
        if self._complete:
            return await self._receive()
        until = self._began + self._seconds + self.received / self._rate
        try:
            async with asyncio.timeout_at(until):
                message = await self._receive()
        except TimeoutError:
            raise TooSlow(
                f"{self.received} bytes of the body came in {self._loop.time() - self._began:.0f} s; it has "
                f"{self._seconds:g} s, and one more for each {self._rate} bytes"
            ) from None
        size = len(message.get("body", b""))
        self.received += size
        self._hold(size)
        self._complete = not message.get("more_body", False)
        return message

    def sending(self, send: Send) -> Send:
        """Ends the connection after an answer to a body that nobody read: its rest could come for ever."""

        async def closing(message: Message) -> None:
            if message["type"] == "http.response.start" and not self._complete:
                MutableHeaders(scope=message)["Connection"] = "close"
            await send(message)

        return closing


def sender(scope: Scope) -> str:
    """Whose allowance a request takes from: an IPv4 address, or the 64 bits that an IPv6 network gives to one party."""
    host: str = (scope.get("client") or ("", 0))[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host[:64]
    if isinstance(address, ipaddress.IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.IPv6Network((int(address), 64), strict=False))
    return str(address)

"""A connection that is held to limits: uvicorn has none for slow headers, slow readers and crowds.

A sender that drips the header of a request, or does not read its answer, costs no thread but a socket, and there are
not many. Where the ceiling is reached, the connection that has waited longest for its header makes room.
"""

import asyncio
import ipaddress
from collections import Counter
from dataclasses import dataclass, field
from typing import ClassVar, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from aggregator import problems
from aggregator.intake.gathered import GatheredWrites
from aggregator.metrics import Metrics
from fgpr.errors import EncodingError, FgprError, TooLarge, TooMany, TooSlow, Unavailable

LINGER_SECONDS = 5.0
"""How long a connection that is being closed may take to read what was written to it."""


@dataclass
class Gate:
    """The limits of one process, and its connections.

    Attributes:
        most: connections.
        most_each: connections of one address.
        proxies: networks whose addresses may have any number of connections.
        head_seconds: time for the header of a request.
        head_bytes: its size.
        write_seconds: how long a client may read nothing of its answer.
        metrics: where connections are counted.
    """

    most: int
    most_each: int
    proxies: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]
    head_seconds: float
    head_bytes: int
    write_seconds: float
    metrics: Metrics = field(repr=False)
    held: Counter[str] = field(default_factory=Counter, repr=False)
    heads: dict["LimitedConnection", None] = field(default_factory=dict, repr=False)

    def is_proxy(self, host: str) -> bool:
        """Whether an address is that of a proxy."""
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        return any(address in network for network in self.proxies)


def connection_class(gate: Gate) -> type["LimitedConnection"]:
    """The protocol of a server's connections."""
    return type("GatedConnection", (LimitedConnection,), {"gate": gate})


class LimitedConnection(HttpToolsProtocol):
    """One connection."""

    gate: ClassVar[Gate]
    _address = ""
    _head_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Take it, refuse it, or let another one go."""
        super().connection_made(cast("asyncio.Transport", GatheredWrites(transport, self.loop)))
        gate = self.gate
        self._address = self.client[0] if self.client else ""
        gate.held[self._address] += 1
        gate.metrics.connected(+1)
        if gate.held[self._address] > gate.most_each and not gate.is_proxy(self._address):
            self._end(TooMany(f"more than {gate.most_each} connections from one address", retry_after=5), "address")
        elif len(self.connections) <= gate.most:
            self._await_head()
        elif gate.heads:
            next(iter(gate.heads))._end(TooSlow("others wait for a connection"), "crowded")
            self._await_head()
        else:
            self._end(Unavailable(f"all {gate.most} connections are in use"), "full")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        super().connection_lost(exc)
        self._head_over()
        self._reading_again()
        self.gate.metrics.connected(-1)
        self.gate.held[self._address] -= 1
        if not self.gate.held[self._address]:
            del self.gate.held[self._address]

    def data_received(self, data: bytes) -> None:
        """Bytes of a header or a body."""
        if self._head_timer is None and self.cycle is not None and self.cycle.response_complete:
            self._await_head()
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_timer is not None and self._head_bytes > self.gate.head_bytes:
            self._end(TooLarge(f"the header is larger than {self.gate.head_bytes} bytes"), "large head", 431)

    def on_headers_complete(self) -> None:
        """The request begins."""
        self._head_over()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP gets a problem document too."""
        self._end(EncodingError(msg), "no HTTP", 400)

    def on_response_complete(self) -> None:
        """The answer is written, though perhaps not read."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._abort_later()

    def timeout_keep_alive_handler(self) -> None:
        """Nothing came for too long."""
        super().timeout_keep_alive_handler()
        self._abort_later()

    def pause_writing(self) -> None:
        """The client does not read."""
        super().pause_writing()
        self._write_timer = self.loop.call_later(self.gate.write_seconds, self._not_reading)

    def resume_writing(self) -> None:
        """It reads on."""
        super().resume_writing()
        self._reading_again()

    def _await_head(self) -> None:
        self._head_bytes = 0
        self.gate.heads[self] = None
        self._head_timer = self.loop.call_later(self.gate.head_seconds, self._head_late)

    def _head_over(self) -> None:
        self.gate.heads.pop(self, None)
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_late(self) -> None:
        self._end(TooSlow(f"no whole header came in {self.gate.head_seconds:g} s"), "slow head")

    def _not_reading(self) -> None:
        self.gate.metrics.cut("slow reader")
        self.transport.abort()

    def _reading_again(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _end(self, error: FgprError, reason: str, status: int | None = None) -> None:
        self._head_over()
        self.gate.metrics.cut(reason)
        answering = self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete
        if not self.transport.is_closing() and not answering:
            answer = problems.problem(error, status=status)
            answer.headers["Connection"] = "close"
            head = b"".join(name + b": " + value + b"\r\n" for name, value in answer.raw_headers)
            self.transport.write(STATUS_LINE[answer.status_code] + head + b"\r\n" + bytes(answer.body))
        self.transport.close()
        self._abort_later()

    def _abort_later(self) -> None:
        self.loop.call_later(LINGER_SECONDS, self.transport.abort)

"""A transport that sends what is written within one turn of the event loop at once.

uvicorn writes the head of an answer and then its body, and uvloop hands each to the system at once: two calls, and two
times that a client wakes.
"""

import asyncio
from typing import Any


class GatheredWrites:
    """What uvicorn's protocol uses of a transport.

    Args:
        transport: sends.
        loop: of the connection.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send these bytes at the end of this turn, after those that were written before."""
        if not data:
            return
        if not self._held:
            self._loop.call_soon(self._flush)
        self._held.append(data)

    def close(self) -> None:
        """Send what was written, and close."""
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Close at once; what was not sent is lost."""
        self._held.clear()
        self._transport.abort()

    def is_closing(self) -> bool:
        """Whether it is closed or being closed."""
        return self._transport.is_closing()

    def pause_reading(self) -> None:
        """Take no bytes for now."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Take bytes again."""
        self._transport.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """As a transport tells it."""
        return self._transport.get_extra_info(name, default)

    def _flush(self) -> None:
        held, self._held = self._held, []
        if held and not self._transport.is_closing():
            self._transport.writelines(held)

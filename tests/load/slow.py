"""Sockets that send a byte a second: half of them a header, half a body; they come again when they are cut."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from load.requests import PATH

SOCKETS = 500
SECONDS = 1.0
"""Between two bytes."""

ADDRESS = "127.0.0.2"
"""Not that of the clients: they have allowances of their own."""

HEAD = b"GET /v1/log/checkpoint HTTP/1.1\r\nHost: aggregator\r\nX-Slow: "
BODY = (
    f"PUT {PATH}/rounds/1/contributions/client-0000 HTTP/1.1\r\nHost: aggregator\r\n"
    "Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n"
).encode("ascii")


@asynccontextmanager
async def slow_sockets(port: int, count: int) -> AsyncIterator[None]:
    """While the block runs, so many of them, spread over a second."""
    tasks = [
        asyncio.create_task(_drip(port, BODY if number % 2 else HEAD, SECONDS * number / max(1, count)))
        for number in range(count)
    ]
    if count:
        # All of them are there before the first client.
        await asyncio.sleep(2 * SECONDS)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _drip(port: int, begin: bytes, after: float) -> None:
    await asyncio.sleep(after)
    while True:
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(ADDRESS, 0))
            try:
                writer.write(begin)
                while not writer.is_closing():
                    await writer.drain()
                    await asyncio.sleep(SECONDS)
                    writer.write(b"x")
            finally:
                writer.close()
        await asyncio.sleep(SECONDS)

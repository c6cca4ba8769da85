"""Sockets that send a byte a second: half of them a header, half a body; they come again when they are cut."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from load.requests import PATH

TESTS = Path(__file__).resolve().parents[1]
SOCKETS = 500
SECONDS = 1.0
"""Between two bytes."""

ADDRESS = "127.0.0.2"
"""Not that of the clients: they have allowances of their own."""

READY = b"there\n"

HEAD = b"GET /v1/log/checkpoint HTTP/1.1\r\nHost: aggregator\r\nX-Slow: "
BODY = (
    f"PUT {PATH}/rounds/1/contributions/client-0000 HTTP/1.1\r\nHost: aggregator\r\n"
    "Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n"
).encode("ascii")


@asynccontextmanager
async def slow_sockets(port: int, count: int) -> AsyncIterator[None]:
    """While the block runs, so many of them, in a process of their own: this one's answers are timed."""
    command = (sys.executable, "-m", "load.slow", str(port), str(count))
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, env=os.environ | {"PYTHONPATH": str(TESTS)})
    try:
        assert process.stdout is not None
        # All of them are there before the first client.
        assert await process.stdout.readline() == READY
        yield
    finally:
        process.terminate()
        await process.communicate()


async def _all(port: int, count: int) -> None:
    """For ever, so many of them, which began within a second."""
    tasks = [
        asyncio.create_task(_drip(port, BODY if number % 2 else HEAD, SECONDS * number / count))
        for number in range(count)
    ]
    await asyncio.sleep(2 * SECONDS)
    sys.stdout.buffer.write(READY)
    sys.stdout.flush()
    await asyncio.gather(*tasks)


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


if __name__ == "__main__":
    asyncio.run(_all(int(sys.argv[1]), int(sys.argv[2])))

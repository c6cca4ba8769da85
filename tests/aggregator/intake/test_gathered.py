"""What is written in one turn of the event loop goes out at once, in order, and before the connection closes."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest
import uvloop

from aggregator.intake.gathered import GatheredWrites

LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]


def played(make: Callable[[], asyncio.AbstractEventLoop], play: Callable[..., Awaitable[None]]) -> None:
    async def main() -> None:
        near, far = socket.socketpair()
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(asyncio.Protocol, sock=near)
        far.setblocking(False)
        try:
            await play(GatheredWrites(transport, loop), far)
        finally:
            transport.abort()
            far.close()

    with asyncio.Runner(loop_factory=make) as runner:
        runner.run(main())


@pytest.mark.parametrize("make", LOOPS, ids=["asyncio", "uvloop"])
def test_one_turn_is_one_sending(make: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def play(gathered: GatheredWrites, far: socket.socket) -> None:
        gathered.write(b"head ")
        gathered.write(b"")
        gathered.write(b"body")
        with pytest.raises(BlockingIOError):
            far.recv(100)
        await asyncio.sleep(0.02)
        assert far.recv(100) == b"head body"
        gathered.write(b"next")
        await asyncio.sleep(0.02)
        assert far.recv(100) == b"next"

    played(make, play)


@pytest.mark.parametrize("make", LOOPS, ids=["asyncio", "uvloop"])
def test_closing_sends_what_was_written(make: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def play(gathered: GatheredWrites, far: socket.socket) -> None:
        gathered.write(b"head ")
        gathered.write(b"body")
        gathered.close()
        assert gathered.is_closing()
        gathered.write(b"too late")
        await asyncio.sleep(0.02)
        assert far.recv(100) == b"head body"
        assert far.recv(100) == b""

    played(make, play)


@pytest.mark.parametrize("make", LOOPS, ids=["asyncio", "uvloop"])
def test_an_aborted_connection_sends_nothing_more(make: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def play(gathered: GatheredWrites, far: socket.socket) -> None:
        gathered.write(b"lost")
        gathered.abort()
        await asyncio.sleep(0.02)
        assert far.recv(100) == b""

    played(make, play)

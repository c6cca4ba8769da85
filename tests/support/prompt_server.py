"""A server of tests: uvicorn's, which ends as soon as it is told to."""

import asyncio
import socket

import uvicorn

LOOK_SECONDS = 0.002


class PromptServer(uvicorn.Server):
    """uvicorn looks ten times a second whether it is to end, and then sleeps: more than most tests take."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._told = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def end(self) -> None:
        """Let it end; from another thread."""
        self.should_exit = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._told.set)

    async def main_loop(self) -> None:
        """Serve until it is told to end."""
        self._loop = asyncio.get_running_loop()
        ticking = asyncio.create_task(super().main_loop())
        told = asyncio.create_task(self._told.wait())
        await asyncio.wait({ticking, told}, return_when=asyncio.FIRST_COMPLETED)
        for task in (ticking, told):
            task.cancel()
        await asyncio.gather(ticking, told, return_exceptions=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let what is on its way be answered, then end; what takes longer than the settings allow is cancelled."""
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                while self.server_state.connections or self.server_state.tasks:
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            for task in self.server_state.tasks:
                task.cancel()
        await self.lifespan.shutdown()

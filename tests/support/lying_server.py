"""A real HTTP server that answers as a federation in memory does, lies included."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
from fastapi import FastAPI, Request, Response

from support.agent_home import InMemory
from support.wire import serving


@dataclass
class LyingServer:
    """A server on this machine.

    Attributes:
        origin: its address.
        connection: what it answers with; of the client that asks next.
    """

    origin: str = ""
    connection: InMemory | None = None

    def answer(self, method: str, url: str, body: bytes) -> httpx.Response:
        """Answer one request; after a fault of the test's own, the agent is stopped instead of asking for ever."""
        assert self.connection is not None
        try:
            return self.connection.handle(httpx.Request(method, url, content=body))
        except Exception as error:
            self.connection.stop.set()
            return httpx.Response(500, text=repr(error))


@contextmanager
def lying_server() -> Iterator[LyingServer]:
    """A server; tell it for whom it answers before an agent asks."""
    server, app = LyingServer(), FastAPI()

    @app.api_route("/{path:path}", methods=["GET", "PUT", "POST", "DELETE"])
    async def any_path(request: Request) -> Response:
        answer = server.answer(request.method, str(request.url), await request.body())
        return Response(answer.content, answer.status_code, media_type="application/json")

    with serving(app) as origin:
        server.origin = origin
        yield server

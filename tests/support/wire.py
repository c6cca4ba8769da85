"""Ways from the agent's HTTP client to a server under test: in this process, over a socket, or recorded."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

import httpx
import uvicorn
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fastapi import FastAPI
from http_message_signatures import HTTPMessageSigner, MappingKeyResolver
from http_message_signatures.algorithms import ED25519
from starlette.testclient import TestClient

from client_agent import api
from fgpr import signatures
from support.prompt_server import PromptServer


class InProcess(httpx.BaseTransport):
    """Hands requests to an ASGI application, byte for byte, with the path, query and headers as they were sent."""

    def __init__(self, app: FastAPI, strip: str = "") -> None:
        self._client = TestClient(app, raise_server_exceptions=False, follow_redirects=False)
        self._strip = strip
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        target = request.url.raw_path.decode("ascii").removeprefix(self._strip)
        answer = self._client.request(
            request.method, f"http://testserver{target}", headers=request.headers.multi_items(), content=request.read()
        )
        return httpx.Response(answer.status_code, headers=list(answer.headers.items()), content=answer.content)


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """The origin of `app` behind a real server on a socket."""
    config = uvicorn.Config(app, log_level="error", lifespan="off", ws="none")
    server = PromptServer(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            # The socket listens already: what is sent before the server has started waits in its queue.
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.end()
            thread.join(30)


def as_another(key: Ed25519PrivateKey, other: bytes, clock: Callable[[], datetime], epoch: str) -> "api._Signature":
    """What signs with `key` and says that it is the one whose public half is `other`, 32 bytes."""
    made = api._Signature(key, clock, epoch)
    made._key_id = signatures.key_id(other)
    keys = MappingKeyResolver(public_keys={}, private_keys={made._key_id: key})
    made._signer = HTTPMessageSigner(signature_algorithm=ED25519, key_resolver=keys)
    return made

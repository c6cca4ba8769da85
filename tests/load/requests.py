"""Signed HTTP requests as bytes, ready to be sent, and the connections that send them and read the answers."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from client_agent.api import Api
from support.client import NAME

PATH = f"/v1/federations/{NAME}"
LARGEST_HEAD = 2**20


@dataclass(frozen=True)
class Request:
    """What is to be sent.

    Attributes:
        endpoint: what its figures stand under.
        method: GET or PUT.
        path: from the origin on, with its query.
        body: its bytes.
        signed: whether it is signed.
        seen: the state whose end it waits for.
    """

    endpoint: str
    method: str
    path: str
    body: bytes = b""
    signed: bool = True
    seen: str = ""


class Writer:
    """Writes the requests of one client.

    Args:
        origin: the public address of the aggregator, which signatures cover.
        key: its identity key.
        epoch: of the aggregator's database, with which nonces begin.
    """

    def __init__(self, origin: str, key: Ed25519PrivateKey, epoch: str = "") -> None:
        self._host = urlsplit(origin).netloc
        # It only signs. Another transport would load the certificates of the world for each client.
        self._api = Api(origin, NAME, key, epoch=epoch, transport=httpx.HTTPTransport(verify=False))

    def write(self, request: Request) -> bytes:
        """The bytes of a request; signed now, so that they are good for two minutes."""
        fields: Mapping[str, str] = {}
        if request.signed:
            fields = self._api.signed_headers(request.method, request.path, request.body)
        lines = [f"{request.method} {request.path} HTTP/1.1", f"Host: {self._host}"]
        lines += [f"{name}: {value}" for name, value in fields.items()]
        if request.body:
            lines.append(f"Content-Length: {len(request.body)}")
        return "\r\n".join([*lines, "", ""]).encode("ascii") + request.body


@dataclass(frozen=True)
class Answer:
    """What came back.

    Attributes:
        status: of HTTP.
        body: its bytes.
        size: all bytes of it.
    """

    status: int
    body: bytes
    size: int


class Connection:
    """A kept connection of one client; made where there is none, to the next port each time."""

    def __init__(self, ports: Iterator[int]) -> None:
        self._ports = ports
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def exchange(self, raw: bytes) -> Answer:
        """Send a request and read its answer.

        Raises:
            OSError, asyncio.IncompleteReadError: the connection broke; it is made anew the next time.
        """
        try:
            if self._streams is None:
                self._streams = await asyncio.open_connection("127.0.0.1", next(self._ports), limit=LARGEST_HEAD)
            reader, writer = self._streams
            writer.write(raw)
            head = await reader.readuntil(b"\r\n\r\n")
            length, closes = _told(head)
            body = await reader.readexactly(length)
        except BaseException:
            self.close()
            raise
        if closes:
            self.close()
        return Answer(int(head[9:12]), body, len(head) + length)

    def close(self) -> None:
        """Close it."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


def _told(head: bytes) -> tuple[int, bool]:
    lower = head.lower()
    _, _, after = lower.partition(b"\r\ncontent-length:")
    return int(after.partition(b"\r\n")[0] or b"0"), b"\r\nconnection: close" in lower

"""Bytes to and from a server, without an HTTP library in between: to be slow, wrong and many."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

LONGEST = 60.0
"""Seconds after which a socket that should have been answered or closed fails the test."""


@dataclass(frozen=True)
class Answer:
    """One answer as it came."""

    status: int
    headers: dict[str, str]
    body: bytes

    def problem(self) -> dict[str, Any]:
        """Its problem document."""
        assert self.headers["content-type"] == "application/problem+json"
        document: dict[str, Any] = json.loads(self.body)
        assert document["status"] == self.status
        return document


@contextmanager
def connected(origin: str) -> Iterator[socket.socket]:
    """A connection to a server."""
    made = connect(origin)
    with made:
        yield made


def connect(origin: str) -> socket.socket:
    """The same, to be closed by the caller."""
    parts = urlsplit(origin)
    return socket.create_connection((parts.hostname or "", parts.port or 80), timeout=LONGEST)


def all_of(connection: socket.socket) -> bytes:
    """What comes until the server closes."""
    content = b""
    try:
        while part := connection.recv(65_536):
            content += part
    except ConnectionError:
        # What was sent and not read by the server resets the connection after its answer.
        pass
    return content


def answer_of(content: bytes) -> Answer:
    """The first answer in what came."""
    head, _, body = content.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Answer(int(first.split(" ")[1]), headers, body[: int(headers.get("content-length", "0"))])


def exchange(origin: str, content: bytes) -> Answer:
    """Send bytes, and take what comes until the server closes."""
    with connected(origin) as connection:
        connection.sendall(content)
        return answer_of(all_of(connection))

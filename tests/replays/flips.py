"""One signed request that had no effect yet, with each of its bits flipped and each of its components dropped.

Bytes go over a socket as they are: no HTTP library mends or refuses them on their way.
"""

import socket
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from support.aggregator import Aggregator
from support.client import NAME
from support.party import Party
from support.raw_socket import answer_of, connect

FIELDS = ("content-type", "content-digest", "signature-input", "signature")


@dataclass(frozen=True)
class Sent:
    """A request as bytes.

    Attributes:
        method: as sent.
        target: path and query.
        fields: the header fields that count.
        body: as sent.
    """

    method: bytes
    target: bytes
    fields: dict[str, bytes]
    body: bytes

    def raw(self) -> bytes:
        """What goes over the socket."""
        lines = [b"%s %s HTTP/1.1" % (self.method, self.target), b"Host: x", b"Content-Length: %d" % len(self.body)]
        lines += [name.encode() + b": " + value for name, value in self.fields.items()]
        return b"\r\n".join(lines) + b"\r\n\r\n" + self.body


def contribution(party: Party) -> Sent:
    """A contribution that was signed and not sent; it would be taken."""
    body = party.contribution()
    target = f"/v1/federations/{NAME}/rounds/1/contributions/{party.name}"
    request = party.api._request("PUT", target, body=body)
    next(party.api._signature.auth_flow(request))
    fields = {name: request.headers[name].encode("ascii") for name in FIELDS}
    return Sent(b"PUT", target.encode(), fields, body)


def flipped(raw: bytes, step: int = 1) -> Iterator[bytes]:
    """`raw` with one bit flipped, each in turn, or one in `step`."""
    for bit in range(0, 8 * len(raw), step):
        changed = bytearray(raw)
        changed[bit // 8] ^= 1 << bit % 8
        yield bytes(changed)


def changes(sent: Sent, step: int = 1) -> Iterator[tuple[str, Sent]]:
    """What was changed, and the request with it; of the body's bits one in `step`."""
    for body in flipped(sent.body, step):
        yield "bit of the body", replace(sent, body=body)
    for method in flipped(sent.method):
        yield "bit of the method", replace(sent, method=method)
    for target in flipped(sent.target):
        yield "bit of path or query", replace(sent, target=target)
    for name, value in sent.fields.items():
        for other in flipped(value):
            if name != "signature" or not _spelt_otherwise(value, other):
                yield f"bit of {name}", replace(sent, fields=sent.fields | {name: other})
        yield "dropped field", replace(sent, fields={key: one for key, one in sent.fields.items() if key != name})
    yield "added query", replace(sent, target=sent.target + b"?x=1")
    yield "dropped body", replace(sent, body=b"")
    covered = sent.fields["signature-input"]
    for name in (b"@method", b"@authority", b"@path", b"@query", b"content-type", b"content-digest"):
        without = covered.replace(b'"%s" ' % name, b"").replace(b' "%s")' % name, b")")
        yield "dropped component", replace(sent, fields=sent.fields | {"signature-input": without})


def statuses(aggregator: Aggregator, sent: Sent, step: int = 1) -> dict[str, Counter[int]]:
    """Of each kind of change, how often which status was the answer."""
    found: dict[str, Counter[int]] = {}
    wire = _Wire(aggregator.settings.origin)
    try:
        for kind, changed in changes(sent, step):
            found.setdefault(kind, Counter())[wire.ask(changed.raw())] += 1
    finally:
        wire.close()
    return found


def asked(aggregator: Aggregator, sent: Sent) -> int:
    """The status of the answer to a request as it is."""
    wire = _Wire(aggregator.settings.origin)
    try:
        return wire.ask(sent.raw())
    finally:
        wire.close()


def _spelt_otherwise(value: bytes, other: bytes) -> bool:
    # 64 bytes leave 4 bits of the last character unused, which a parser may ignore (RFC 8941): the same signature.
    last = value.index(b"==:") - 1
    return value[:last] + value[last + 1 :] == other[:last] + other[last + 1 :]


class _Wire:
    """A connection that is made anew where the server closed it."""

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._socket: socket.socket | None = None

    def ask(self, raw: bytes) -> int:
        """The status of the answer; 400 where the server closed without one, since that was no HTTP."""
        for _ in range(2):
            if self._socket is None:
                self._socket = connect(self._origin)
            try:
                self._socket.sendall(raw)
                content = self._whole(self._socket)
            except OSError:
                content = b""
            if content:
                answer = answer_of(content)
                if answer.headers.get("connection") == "close":
                    self.close()
                return answer.status
            self.close()
        return 400

    def _whole(self, connection: socket.socket) -> bytes:
        content = b""
        while b"\r\n\r\n" not in content or len(content.partition(b"\r\n\r\n")[2]) < _length(content):
            part = connection.recv(65_536)
            if not part:
                return content
            content += part
        return content

    def close(self) -> None:
        """Let go of it."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _length(content: bytes) -> int:
    return int(answer_of(content).headers.get("content-length", "0"))

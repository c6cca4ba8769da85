"""A small real HTTP proxy on loopback: absolute-form requests and CONNECT tunnels, all to one place."""

import re
import socket
import threading
from contextlib import suppress

LIMIT = 65_536


class Proxy:
    """Forwards whatever it is asked for to one address, as if every name resolved to it.

    Args:
        port: on 127.0.0.1, where everything goes.
        refuse: an answer that it gives itself instead.
        deaf: takes connections and requests, and never answers the first of them.

    Attributes:
        asked: first line of each request.
        address: its own, as in `http://127.0.0.1:PORT`.
    """

    def __init__(self, port: int, refuse: bytes = b"", deaf: bool = False) -> None:
        self._port, self._refuse, self._deaf = port, refuse, deaf
        self.asked: list[str] = []
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        """End it and every connection."""
        for each in (self._listener, *self._open):
            # A thread may wait on it: closing alone would not wake it.
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._open.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(LIMIT)
            line, rest = head.split(b"\r\n", 1)
            self.asked.append(line.decode())
            if self._deaf and len(self.asked) == 1:
                return
            if self._refuse:
                connection.sendall(self._refuse)
                connection.shutdown(socket.SHUT_RDWR)
                return
            upstream = socket.create_connection(("127.0.0.1", self._port))
            self._open.append(upstream)
            if line.startswith(b"CONNECT "):
                connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                # To the origin server the path goes alone (RFC 9112, 3.2.2).
                upstream.sendall(re.sub(rb" http://[^/ ]+", b" ", line, count=1) + b"\r\n" + rest)
            back = threading.Thread(target=_copy, args=(upstream, connection), daemon=True)
            back.start()
            _copy(connection, upstream)
            back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while part := source.recv(LIMIT):
            target.sendall(part)
        target.shutdown(socket.SHUT_WR)

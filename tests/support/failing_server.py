"""A server on a real socket that answers as it is told, or hangs up."""

import re
import socket
import threading
import time
from io import BufferedReader


def http(status: str, body: bytes = b"", *headers: str) -> bytes:
    """An answer in bytes."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


RECEIPT = http("200 OK", b"receipt")


class Failing:
    """A server of one connection at a time: the n-th request gets the n-th answer, then perhaps a hang-up.

    Args:
        steps: answers, and whether to hang up after them.
        delay: seconds before each answer.
    """

    def __init__(self, *steps: tuple[bytes, bool], delay: float = 0.0) -> None:
        self._steps = list(steps)
        self._delay = delay
        self.bodies: list[bytes] = []
        self.heads: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.origin = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with self._listener:
            while self._steps:
                connection, _ = self._listener.accept()
                with connection, connection.makefile("rb") as incoming:
                    self._answer(connection, incoming)

    def _answer(self, connection: socket.socket, incoming: BufferedReader) -> None:
        while self._steps:
            head = b"".join(iter(incoming.readline, b"\r\n" if incoming.peek(1) else b"")).decode().lower()
            if not head:
                return
            self.heads.append(head)
            length = re.search(r"content-length: ([0-9]+)", head)
            self.bodies.append(incoming.read(int(length[1])) if length else b"")
            answer, hang_up = self._steps.pop(0)
            time.sleep(self._delay)
            connection.sendall(answer)
            if hang_up:
                return

    def join(self) -> None:
        """Wait until every answer is given."""
        self._thread.join(10)
        assert not self._thread.is_alive()

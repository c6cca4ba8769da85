"""Where a federation stands, as bytes: written down once for each state, not once for each client that asks.

Only a cache: the state is read from the database for each request, and whoever asks is judged in the same transaction.
"""

import threading
from dataclasses import dataclass

from fgpr.rest import RoundView

MOST_VIEWS = 64
"""Federations whose views are kept."""


@dataclass(frozen=True)
class Shown:
    """A view as it is sent.

    Attributes:
        state: its token.
        body: JSON.
    """

    state: str
    body: bytes


class ShownViews:
    """The newest view of each federation, without the time of day."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[object, bytes, bytes]] = {}

    def get(self, federation: str, position: object, server_time: str) -> bytes | None:
        """The view at this position, told at that time; None where it is not kept."""
        with self._lock:
            kept = self._kept.get(federation)
        if kept is None or kept[0] != position:
            return None
        return b'%b"server_time":"%b"%b' % (kept[1], server_time.encode(), kept[2])

    def add(self, federation: str, position: object, view: RoundView) -> bytes:
        """Keep a view, and give it."""
        body = view.model_dump_json().encode()
        before, time, after = body.rpartition(b'"server_time":"%b"' % view.server_time.encode())
        with self._lock:
            if len(self._kept) >= MOST_VIEWS:
                self._kept.clear()
            self._kept[federation] = (position, before, after)
        return before + time + after

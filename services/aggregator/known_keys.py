"""Public keys that were looked up before, by key id.

A key id is the hash of its key, so that what is kept here can never become wrong: whose key it is, and whether that
party is revoked, is judged in each transaction. Ids that nobody holds are not kept.
"""

import threading
from collections import OrderedDict

from aggregator.auth import NotInMemory

MOST_KEYS = 10_000
"""Keys that are kept; beyond, the one that was not asked for the longest time is let go."""


class KnownKeys:
    """The keys that this process has seen last.

    Args:
        most: keys that are kept.
    """

    def __init__(self, most: int = MOST_KEYS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._keys: OrderedDict[str, bytes] = OrderedDict()

    def get(self, key_id: str) -> bytes:
        """The public key, 32 bytes.

        Raises:
            NotInMemory: it is not kept.
        """
        with self._lock:
            if key_id not in self._keys:
                raise NotInMemory
            self._keys.move_to_end(key_id)
            return self._keys[key_id]

    def add(self, key_id: str, key: bytes) -> None:
        """Keep a key."""
        with self._lock:
            self._keys[key_id] = key
            while len(self._keys) > self._most:
                self._keys.popitem(last=False)

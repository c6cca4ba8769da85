"""How many requests a sender may make: a token bucket for each, in the memory of one process.

A bucket holds at most `burst` tokens and gains `rate` a second; a request takes one or is refused. Replicas count
apart, so that a sender gets at most their number times its share.
"""

import math
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from fgpr.errors import TooMany

MOST_BUCKETS = 100_000
"""Senders that are remembered; beyond, the one that was silent longest is forgotten, which fills its bucket."""


@dataclass
class _Bucket:
    tokens: float
    at: float


class TokenBuckets:
    """A bucket for each key.

    Args:
        who: what a key stands for, as messages name it.
        rate: tokens a second, above 0.
        burst: tokens of a full bucket, at least 1.
        clock: seconds that never run backwards.
        most: buckets that are kept.
    """

    def __init__(self, who: str, rate: float, burst: int, clock: Callable[[], float], most: int = MOST_BUCKETS) -> None:
        self._who = who
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._most = most
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: str) -> None:
        """Take one token.

        Raises:
            TooMany: there is none; says in how many seconds there will be one.
        """
        with self._lock:
            now = self._clock()
            bucket = self._buckets.pop(key, None) or _Bucket(float(self._burst), now)
            bucket.tokens = min(float(self._burst), bucket.tokens + (now - bucket.at) * self._rate)
            bucket.at = now
            self._buckets[key] = bucket
            while len(self._buckets) > self._most:
                self._buckets.popitem(last=False)
            if bucket.tokens >= 1:
                bucket.tokens -= 1
                return
            seconds = math.ceil((1 - bucket.tokens) / self._rate)
        raise TooMany(
            f"more than {self._burst} requests at once, or {self._rate:g} a second, from this {self._who}; "
            f"try again in {seconds} s",
            retry_after=seconds,
        )

    def __len__(self) -> int:
        return len(self._buckets)

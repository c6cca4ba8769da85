"""When a request is tried again: what may be over at the next attempt, and how long to wait for that."""

import re
import time

PASSING = {408, 429, 502, 503, 504}
"""Statuses of answers that may be others in a moment."""


class Passing(Exception):
    """A failure that may be over at the next attempt."""

    def __init__(self, reason: str, retry_after: int | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


def wait(error: Exception, deadline: float) -> bool | float:
    """Whether to try again: no, after the backoff, or after the seconds that the aggregator asks for."""
    if not isinstance(error, Passing) or time.monotonic() + (error.retry_after or 0) >= deadline:
        return False
    return True if error.retry_after is None else float(error.retry_after)


def seconds(retry_after: str) -> int | None:
    """The seconds of a Retry-After field; None for none.

    The other form of RFC 9110, a date, is left to the backoff: it would trust two clocks.
    """
    return int(retry_after) if re.fullmatch(r"[0-9]{1,9}", retry_after) else None

"""Clocks that disagree or move: an aggregator refuses requests that are stale or of the future, and owners should know.

Nothing else depends on the clock: deadlines are the aggregator's, and waits are counted by a clock that nobody sets.
"""

import time
from collections.abc import Callable
from datetime import datetime

from client_agent.events import Kind, Reporter
from fgpr.message import instant

TOLERANCE = 10.0
"""Seconds that clocks may differ before it is worth a word; requests take a part of it."""


class ClockWatch:
    """Compares this machine's clock with one that nobody sets, and with the aggregator's.

    Args:
        clock: this machine's time, aware.
        tell: tells the owner.
        monotonic: seconds of a clock that nobody sets.
    """

    def __init__(
        self, clock: Callable[[], datetime], tell: Reporter, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._tell = tell
        self._monotonic = monotonic
        self._last = clock(), monotonic()
        self._offset = 0.0

    def look(self) -> None:
        """Tell of a clock that was moved since the last look."""
        now, running = self._clock(), self._monotonic()
        moved = (now - self._last[0]).total_seconds() - (running - self._last[1])
        self._last = now, running
        if abs(moved) > TOLERANCE:
            way = "forward" if moved > 0 else "back"
            asleep = ", or the machine slept" if moved > 0 else ""
            self._tell(Kind.CLOCK, 0, f"the clock of this machine was moved {way} by {abs(moved):.0f} s{asleep}")

    def compare(self, server_time: str) -> None:
        """Tell of a clock that is not the aggregator's, and when it is again.

        Args:
            server_time: the aggregator's time in an answer that came just now.
        """
        offset = (self._clock() - instant(server_time)).total_seconds()
        if abs(offset - self._offset) <= TOLERANCE:
            return
        # What was told last is compared, so that a clock at the tolerance is not told again and again.
        self._offset = offset if abs(offset) > TOLERANCE else 0.0
        if self._offset == 0.0:
            self._tell(Kind.CLOCK, 0, "the clock of this machine is the aggregator's again")
            return
        way = "ahead of" if offset > 0 else "behind"
        self._tell(
            Kind.CLOCK,
            0,
            f"the clock of this machine is {abs(offset):.0f} s {way} the aggregator's, which refuses requests that are "
            "stale or of the future: set it",
        )

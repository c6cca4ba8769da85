"""Wakes the requests of this process that wait for a round to change."""

import threading

LOOK_AGAIN = 1.0
"""Seconds after which a waiting request looks again where nobody tells this process of another one's commits."""

LOOK_AGAIN_LISTENING = 15.0
"""The same where the database does."""


class Bell:
    """Rung after each commit that changes a round, here or, where the database tells of it, in another process."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._rings = 0
        self._listening = False

    @property
    def rings(self) -> int:
        """How often it has rung: to be read before a look, and handed to `wait` after it."""
        with self._condition:
            return self._rings

    def ring(self) -> None:
        """Something changed."""
        with self._condition:
            self._rings += 1
            self._condition.notify_all()

    def listen(self, listening: bool) -> None:
        """Whether other processes' changes ring it from now on."""
        with self._condition:
            self._listening = listening
            # Whoever waits for the longer time looks again and waits for the shorter one.
            self._rings += not listening
            self._condition.notify_all()

    def wait(self, rings: int, seconds: float) -> bool:
        """Until it has rung more often than `rings`, or `seconds` have passed, or it is time to look again.

        Returns:
            Whether it rang.
        """
        with self._condition:
            longest = LOOK_AGAIN_LISTENING if self._listening else LOOK_AGAIN
            return self._condition.wait_for(lambda: self._rings != rings, min(seconds, longest))

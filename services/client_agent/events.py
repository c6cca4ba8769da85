"""What an agent tells its owner while it takes part in rounds."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from fgpr.errors import FgprError


class Kind(StrEnum):
    """What happened."""

    CHECKED = "checked"
    CONTRIBUTED = "contributed"
    OPENED = "opened"
    VOIDED = "voided"
    COMPLAINED = "complained"
    ENDED = "ended"
    SKIPPED = "skipped"
    TOO_LATE = "too-late"
    REFUSED = "refused"
    CONSENT = "consent"
    PAUSED = "paused"
    CLOCK = "clock"
    FAILED = "failed"
    REVOKED = "revoked"


@dataclass(frozen=True)
class Event:
    """One thing that happened.

    Attributes:
        kind: what it was. CHECKED: a plan passed. CONTRIBUTED, OPENED, VOIDED, COMPLAINED: the aggregator has our
            contribution, our opening of a cohort, that of an empty one, or our complaint of boxes. ENDED: the round is
            over. SKIPPED: this client contributes nothing. TOO_LATE: a deadline passed. REFUSED: a plan or a cohort
            fails a check. CONSENT: the owner has to decide. PAUSED: no round opens, for a while or for good. CLOCK:
            this machine's clock was moved, or is not the aggregator's. FAILED: it is tried again. REVOKED: this client
            takes part no more.
        at: when, by the agent's clock.
        round: the round; 0 where it is about none.
        text: one line for people.
        error: what was raised, if anything was.
        sent: bytes of the body that the aggregator has now; 0 where nothing was sent.
    """

    kind: Kind
    at: datetime
    round: int
    text: str
    error: FgprError | None = None
    sent: int = 0


Listener = Callable[[Event], None]


def one_line(text: str) -> str:
    """`text` without line breaks and control characters: some of it comes from the other side."""
    return "".join(character if character.isprintable() else " " for character in text)


class Reporter:
    """Tells the owner what happens; the same thing twice in a row is told once.

    Args:
        clock: the present time, aware.
        listener: is told.
    """

    def __init__(self, clock: Callable[[], datetime], listener: Listener | None) -> None:
        self._clock = clock
        self._listener = listener
        self._told: tuple[Kind, int, str] | None = None

    def __call__(self, kind: Kind, number: int, text: str, error: FgprError | None = None, sent: int = 0) -> None:
        """Tell it."""
        told = (kind, number, one_line(text))
        if self._listener is not None and told != self._told:
            self._listener(Event(kind, self._clock(), number, told[2], error, sent))
        self._told = told

"""What an agent at work shows of itself, in its home: readable while it runs, and after.

    HOME/status.json

It is written for people and machines that look on. Nothing that the agent does depends on it: where it cannot be
written the agent goes on, and one that is damaged is begun anew.
"""

import contextlib
import os
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue

from client_agent import durable_file
from client_agent.events import Event, Kind
from client_agent.own_rows import Report
from fgpr.errors import EncodingError
from fgpr.message import Count, Message, Timestamp, timestamp

FILE_NAME = "status.json"

KEPT = 20
"""Newest events, and newest bodies sent, that are shown."""

_SENT = {
    Kind.CONTRIBUTED: "contribution",
    Kind.OPENED: "opening",
    Kind.VOIDED: "void opening",
    Kind.COMPLAINED: "complaint",
}


class Sent(Message):
    """A body that the aggregator has.

    Attributes:
        round: its round.
        what: contribution, opening, void opening or complaint.
        size: in bytes.
        at: when the receipt came, by the agent's clock.
    """

    round: Count
    what: str
    size: Count
    at: Timestamp


class Told(Message):
    """One thing that the owner was told; `kind` is of `client_agent.events.Kind`."""

    at: Timestamp
    round: Count
    kind: str
    text: str


class Status(Message):
    """What is shown.

    Attributes:
        process: id of the process that wrote it last.
        started: when that began.
        served: rounds that ended while this home's agent took part, since the file began.
        sent: the newest bodies, oldest first.
        sent_count, sent_bytes: of all of them.
        events: the newest, oldest first.
        floors: in force, with the budget.
        data: what became of the owner's rows when they were read last.
    """

    process: Count = 0
    started: Timestamp | None = None
    served: Count = 0
    sent: tuple[Sent, ...] = ()
    sent_count: Count = 0
    sent_bytes: Count = 0
    events: tuple[Told, ...] = ()
    floors: dict[str, JsonValue] = Field(default_factory=dict)
    data: dict[str, JsonValue] | None = None


class StatusKeeper:
    """Keeps the status of one agent at work.

    Args:
        home: its home.
        clock: the present time, aware.
        floors: in force, with the budget, as JSON.
    """

    def __init__(self, home: Path, clock: Callable[[], datetime], floors: dict[str, Any]) -> None:
        self._path = home / FILE_NAME
        self._status = read(home).model_copy(
            update={"process": os.getpid(), "started": timestamp(clock()), "floors": floors}
        )
        self._write()

    def note(self, event: Event) -> None:
        """Note what happened."""
        status, at = self._status, timestamp(event.at)
        changes: dict[str, Any] = {
            "events": (*status.events, Told(at=at, round=event.round, kind=event.kind.value, text=event.text))[-KEPT:]
        }
        if event.kind is Kind.ENDED:
            changes["served"] = status.served + 1
        what = _SENT.get(event.kind)
        # After a crash the same bytes are sent again, and are still one body.
        known = {(each.round, each.what) for each in status.sent}
        if what is not None and (event.round, what) not in known:
            body = Sent(round=event.round, what=what, size=event.sent, at=at)
            changes |= {
                "sent": (*status.sent, body)[-KEPT:],
                "sent_count": status.sent_count + 1,
                "sent_bytes": status.sent_bytes + event.sent,
            }
        self._status = status.model_copy(update=changes)
        self._write()

    def note_rows(self, report: Report) -> None:
        """Note what became of the owner's rows."""
        self._status = self._status.model_copy(update={"data": asdict(report)})
        self._write()

    def _write(self) -> None:
        with contextlib.suppress(OSError):
            durable_file.replace(self._path, self._status.encode())


def read(home: Path) -> Status:
    """The status in a home; an empty one where there is none, or one that is damaged."""
    try:
        return Status.decode((home / FILE_NAME).read_bytes())
    except (FileNotFoundError, EncodingError):
        return Status()

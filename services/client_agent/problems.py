"""Problem documents (RFC 9457) of the aggregator, turned back into the error classes they name."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from fgpr import canonical
from fgpr.errors import (
    CohortRefused,
    EncodingError,
    FgprError,
    PlanRefused,
    RemoteProtocolError,
    RequestError,
    Unauthenticated,
)

PREFIX = "urn:fgpr:problem:"

DETAIL_LIMIT = 1000
"""Longest reason, in characters, that is taken over from an answer."""

_STANDARD = {"type", "title", "status", "detail", "instance"}


def refusal(status: int, content: bytes, now: datetime) -> FgprError:
    """The error that an answer tells, to be raised.

    Args:
        status: of the answer.
        content: its body; whatever is no problem document of ours gives `RemoteProtocolError`.
        now: this side's time, aware, for the offset of the clocks.
    """
    document = _document(content)
    kind = KINDS.get(str(document.get("type")))
    reason = _printable(str(document.get("detail") or document.get("title") or "no problem document that we know"))
    if kind is None:
        return RemoteProtocolError(f"the aggregator answered {status}: {reason}")
    if not issubclass(kind, RequestError):
        return kind(reason)
    details: dict[str, str | int | None] = {
        name: value
        for name, value in document.items()
        if name not in _STANDARD and (value is None or isinstance(value, str | int))
    }
    offset = _offset(details, now) if kind is Unauthenticated else None
    if offset is not None:
        details["offset_seconds"] = offset
        direction = "behind" if offset < 0 else "ahead of"
        reason += f"; the clock of this machine is {abs(offset)} s {direction} the aggregator's: set it"
    error = kind(reason)
    error.details = details
    return error


def _offset(details: dict[str, str | int | None], now: datetime) -> int | None:
    """Seconds by which this clock is ahead, where the aggregator tells its time."""
    try:
        return round((now - datetime.fromisoformat(str(details["server_time"]))).total_seconds())
    except (KeyError, ValueError, TypeError):
        return None


def _document(content: bytes) -> dict[str, Any]:
    try:
        document = canonical.parse(content)
    except EncodingError:
        return {}
    return document if isinstance(document, dict) else {}


def _printable(text: str) -> str:
    # The reason ends up on a terminal, and whoever answers may not be an aggregator of ours.
    return "".join(char if char.isprintable() else " " for char in text[:DETAIL_LIMIT])


def _tree(kind: type[FgprError]) -> Iterator[type[FgprError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _tree(child)


KINDS: dict[str, type[FgprError]] = {
    # A refusal of a plan or a cohort is a client's own verdict and never comes over the wire.
    PREFIX + kind.slug: kind
    for kind in _tree(FgprError)
    if not issubclass(kind, PlanRefused | CohortRefused)
}
"""Error classes by problem type."""

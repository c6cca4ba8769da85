"""One line of the message files."""

from typing import Any

from fgpr.message import Message


def entry(message: Message) -> dict[str, Any]:
    """A message, and what another implementation has to make of it."""
    encoded = message.encode()
    told: dict[str, Any] = {"type": type(message).__name__, "value": message.to_json(), "bytes": len(encoded)}
    if message.label:
        told |= {"label": message.label, "digest": message.digest().hex()}
    return told

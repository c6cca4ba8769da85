"""Structured logs: JSON lines on stderr, with an allow-list of fields, so that no body or secret can slip in."""

import logging
import sys
from typing import Any

import structlog

FIELDS = frozenset(
    {"event", "level", "timestamp", "logger", "request_id", "error", "place", "route", "reason", "federation", "round"}
)


def configure() -> None:
    """Send this process's logs to stderr."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _only_allowed,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def _only_allowed(_logger: Any, _method: str, event: Any) -> Any:
    return {name: value for name, value in event.items() if name in FIELDS}

"""Structured logs: JSON lines on stderr, with an allow-list of fields, so that no body or secret can slip in."""

import logging
import sys
from typing import Any

import structlog

FIELDS = frozenset(
    {"event", "level", "timestamp", "logger", "request_id", "error", "place", "route", "reason", "federation", "round"}
    | {"method", "status", "milliseconds", "caller", "problem"}
)


def configure() -> None:
    """Send this process's logs to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_NoTraceback("%(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _only_allowed,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


class _NoTraceback(logging.Formatter):
    """Names the class of an exception only: its message and its frames may hold what a client sent."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the name is logging's
        # None where no exception is under way.
        return "" if ei[0] is None else str(ei[0].__name__)


def _only_allowed(_logger: Any, _method: str, event: Any) -> Any:
    return {name: value for name, value in event.items() if name in FIELDS}

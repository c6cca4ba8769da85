"""Errors as problem documents (RFC 9457): the one place where an error becomes a status.

A document names the class by its slug, so that the agent raises the same class again. What an unforeseen exception
says stays here: the answer carries an id, and the log the same id with the exception's class and place.
"""

import http
import json
import secrets
import traceback
from collections.abc import Callable
from typing import Any

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import Scope

from fgpr import errors
from fgpr.errors import FgprError, RequestError
from fgpr.signed_requests import COVERED, LABEL, TAG

MEDIA_TYPE = "application/problem+json"

DETAIL_LIMIT = 500
"""Longest `detail`, in characters: a message may quote what was sent."""

RETRY_AFTER = 2
"""Seconds in Retry-After where an error names none."""

# The root has no status on purpose: a new branch of the tree has to choose one, and a test says so.
STATUSES: dict[type[FgprError], int] = {
    errors.ProtocolError: 409,
    errors.CapacityError: 422,
    errors.CommitteeError: 422,
    errors.RemoteProtocolError: 422,
    errors.OwnerConsentRequired: 403,
    errors.RequestError: 400,
    errors.Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.UnknownResource: 404,
    errors.Conflict: 409,
    errors.TooLate: 410,
    errors.TooLarge: 413,
    errors.QuotaExceeded: 429,
    errors.TooSlow: 408,
    errors.TooMany: 429,
    errors.Unavailable: 503,
    errors.VerificationError: 422,
    errors.CryptographicError: 422,
    errors.NumericalError: 500,
    errors.EncodingError: 422,
    errors.DataError: 422,
}

# Refusals of the framework that have a class of ours.
_KINDS: dict[int, type[FgprError]] = {404: errors.UnknownResource, 413: errors.TooLarge, 503: errors.Unavailable}

_COMPONENTS = " ".join(f'"{name}"' for name in COVERED)
_ACCEPT_SIGNATURE = f'{LABEL}=({_COMPONENTS});created;keyid;nonce;alg="ed25519";tag="{TAG}"'

_log = structlog.get_logger(__name__)


def status_of(kind: type[FgprError]) -> int | None:
    """The HTTP status of an error class: its own or that of its nearest parent; None where neither has one."""
    return next((STATUSES[parent] for parent in kind.__mro__ if parent in STATUSES), None)


def problem(error: FgprError, scope: Scope | None = None, *, status: int | None = None) -> Response:
    """The answer that tells `error`.

    Args:
        error: what went wrong.
        scope: of the request; gives the request's id, and is told the problem for log and counters.
        status: another one than the class has.
    """
    details: dict[str, Any] = dict(error.details) if isinstance(error, RequestError) else {}
    headers = {}
    if isinstance(error, errors.Unavailable | errors.TooMany):
        headers["Retry-After"] = str(details.get("retry_after") or RETRY_AFTER)
    elif isinstance(error, errors.Unauthenticated):
        headers["Accept-Signature"] = _ACCEPT_SIGNATURE
    elif isinstance(error, errors.TooLarge | errors.TooSlow):
        # The rest of the body is not worth reading.
        headers["Connection"] = "close"
    status = status or status_of(type(error)) or 500
    return _answer(status, str(error), scope, kind=type(error), members=details, headers=headers)


def unsupported(detail: str, scope: Scope) -> Response:
    """415: a body in a form that is not taken."""
    return _answer(415, detail, scope, headers={"Accept": "application/json", "Accept-Encoding": "identity"})


def install(app: FastAPI) -> None:
    """Make every refusal and failure of `app` a problem document."""
    app.add_exception_handler(FgprError, _typed)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _framework)
    app.add_exception_handler(Exception, _unforeseen)


async def _typed(request: Request, error: Exception) -> Response:
    assert isinstance(error, FgprError)  # noqa: S101 (Starlette types every handler alike)
    return problem(error, request.scope)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 (as above)
    # Messages, inputs and keys of a body may be what was sent: only the parameter and the broken rule go out.
    faults = sorted({f"{'.'.join(map(str, _place(fault)))}: {fault['type']}" for fault in error.errors()})
    return _answer(422, "; ".join(faults), request.scope, kind=errors.EncodingError)


def _place(fault: dict[str, Any]) -> tuple[str | int, ...]:
    place: tuple[str | int, ...] = fault["loc"]
    return place[:1] if place[0] == "body" or fault["type"] == "extra_forbidden" else place[:2]


async def _framework(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 (as above)
    kind = _KINDS.get(error.status_code)
    phrase, headers = http.HTTPStatus(error.status_code).phrase, dict(error.headers or {})
    methods: Callable[[str], list[str]] | None = getattr(request.app.state, "methods_of", None)
    if error.status_code == 405 and methods is not None:
        path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
        headers["Allow"] = ", ".join(methods(path)) or headers.get("Allow", "")
    return _answer(error.status_code, phrase, request.scope, kind=kind, headers=headers)


async def _unforeseen(request: Request, error: Exception) -> Response:
    request_id = request.scope.setdefault("state", {}).setdefault("request_id", secrets.token_hex(8))
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{frame.filename}:{frame.lineno}"
    route = getattr(request.scope.get("route"), "path", None)
    _log.error("unforeseen", request_id=request_id, error=type(error).__name__, place=place, route=route)
    detail = f"the aggregator failed; its log has more under request id {request_id}"
    # This answer is written outside of whatever else would add the header.
    return _answer(500, detail, request.scope, headers={"X-Request-Id": request_id})


def _answer(
    status: int,
    detail: str,
    scope: Scope | None,
    *,
    kind: type[FgprError] | None = None,
    members: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    state: dict[str, Any] = {} if scope is None else scope.setdefault("state", {})
    state["problem"] = kind.slug if kind else http.HTTPStatus(status).phrase.lower().replace(" ", "-")
    members = dict(members or {})
    if "request_id" in state:
        members["request_id"] = state["request_id"]
    document = {
        **members,
        "type": f"urn:fgpr:problem:{kind.slug}" if kind else "about:blank",
        "title": kind.slug.replace("-", " ").capitalize() if kind else http.HTTPStatus(status).phrase,
        "status": status,
        "detail": detail[:DETAIL_LIMIT],
    }
    # ASCII escapes, so that half a surrogate pair in a message is no second failure.
    content = json.dumps(document, ensure_ascii=True, allow_nan=False).encode("ascii")
    return Response(content, status_code=status, headers=headers, media_type=MEDIA_TYPE)

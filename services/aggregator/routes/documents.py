"""What OpenAPI tells of a route: its bodies, its refusals, and whether it is signed."""

from typing import Any

from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field

from aggregator import problems
from aggregator.routes.examples import example_of
from fgpr import errors
from fgpr.errors import FgprError
from fgpr.message import Message

SCHEME = "signature"
"""Name of the security scheme."""

Kind = type[FgprError]

_NO_HTTP = "What came is no HTTP."

_ALWAYS: tuple[Kind, ...] = (errors.EncodingError, errors.TooMany, errors.Unavailable)
_SIGNED: tuple[Kind, ...] = (errors.Unauthenticated, errors.Forbidden)
_WITH_BODY: tuple[Kind, ...] = (errors.TooSlow, errors.TooLarge)


_SECURITY: dict[bool | None, list[dict[str, list[str]]]] = {
    True: [{SCHEME: []}],
    False: [],
    None: [{}, {SCHEME: []}],
}


class Problem(BaseModel):
    """A refusal or a failure (RFC 9457); further members depend on its type."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "example": {
                "type": "urn:fgpr:problem:too-late",
                "title": "Too late",
                "status": 410,
                "detail": "round 3 takes no contributions since 2031-03-09T12:10:00.000Z",
                "current_round": 4,
                "request_id": "9f86d081884c7d65",
            }
        },
    )

    type: str = Field(description="urn:fgpr:problem:SLUG, one for each class of fgpr.errors; else about:blank.")
    title: str
    status: int
    detail: str
    request_id: str | None = Field(default=None, description="As in X-Request-Id and in the aggregator's log.")


def documented(
    answer: Any,
    *refusals: Kind,
    body: type[Message] | None = None,
    signed: bool | None = True,
    status: int = 200,
    tagged: bool = False,
) -> dict[str, Any]:
    """Arguments for a route's decorator.

    Args:
        answer: the class of its body; None for an answer without one.
        refusals: beside those that the other arguments imply.
        body: the class of the request's body.
        signed: whether a caller has to sign; None where that depends on the federations.
        status: where it succeeds.
        tagged: whether it knows If-None-Match.
    """
    kinds = (*refusals, *_ALWAYS, *(() if signed is False else _SIGNED), *(_WITH_BODY if body is not None else ()))
    responses: dict[int | str, dict[str, Any]] = {}
    for kind in kinds:
        responses.setdefault(problems.status_of(kind) or 500, _refusal(kind.__doc__ or ""))
    if body is not None:
        responses[415] = _refusal("The body is not plain JSON.")
    if tagged:
        responses[304] = {"description": "What If-None-Match names is still so."}
    responses[400] = _refusal(_NO_HTTP)
    responses[500] = _refusal("Unforeseen; the aggregator's log has more under the request id.")
    done: dict[str, Any] = {"description": "Done."}
    if answer is not None:
        done["model"] = answer
        done["content"] = {"application/json": _with_example(answer, {})}
    responses[status] = done
    extra: dict[str, Any] = {"security": _SECURITY[signed]}
    if tagged:
        text = "An ETag; where it is still the right one, the answer is 304."
        extra["parameters"] = [
            {"name": "If-None-Match", "in": "header", "description": text, "schema": {"type": "string"}}
        ]
    if body is not None:
        schema = {"$ref": f"#/components/schemas/{component(body)}"}
        content = {"application/json": _with_example(body, {"schema": schema})}
        extra["requestBody"] = {"required": True, "content": content}
    return {"responses": dict(sorted(responses.items(), key=str)), "openapi_extra": extra, "status_code": status}


def probe(description: str, media_type: str, *refusals: Kind) -> dict[str, Any]:
    """The same for a route that answers text to everybody."""
    done = {"description": description, "content": {media_type: {"schema": {"type": "string"}}}}
    responses: dict[int | str, dict[str, Any]] = {200: done, 400: _refusal(_NO_HTTP)}
    responses |= {problems.status_of(kind) or 500: _refusal(kind.__doc__ or "") for kind in refusals}
    return {"responses": responses, "openapi_extra": {"security": []}, "response_class": PlainTextResponse}


def component(model: type[BaseModel]) -> str:
    """The name of a class among the schemas of the document, as FastAPI writes it."""
    return model.__name__.replace("[", "_").replace("]", "_")


def _with_example(model: type[BaseModel], content: dict[str, Any]) -> dict[str, Any]:
    example = example_of(model)
    return content if example is None else content | {"example": example}


def _refusal(description: str) -> dict[str, Any]:
    content = {problems.MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{Problem.__name__}"}}}
    return {"description": description.strip().splitlines()[0], "content": content}

"""The REST interface as OpenAPI 3.1: one document, the same on each machine but for the address of the server."""

import warnings
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from aggregator.routes.documents import SCHEME, Problem
from fgpr.message import Signed
from fgpr.operator_rest import FederationRequest, StateRequest, TicketRequest
from fgpr.rest import EnrolmentRequest
from fgpr.rotation import RotationRequest
from fgpr.secagg.messages import Complaint, Contribution, Opening
from fgpr.signed_requests import COVERED, COVERED_WITH_BODY, LABEL, TAG
from fgpr.staff import StaffEnrolment

BODIES = (
    EnrolmentRequest,
    Contribution,
    Signed[Opening],
    Signed[Complaint],
    RotationRequest,
    StaffEnrolment,
    FederationRequest,
    TicketRequest,
    StateRequest,
)
"""Classes of the bodies of requests."""

DESCRIPTION = """Federations that learn a Gaussian process prior together, and its audit log.

Every answer carries `X-Request-Id`. Errors are problem documents (RFC 9457). Times are UTC and end in Z; bytes are
base64. `HEAD` works wherever `GET` does. PUTs may be sent again: the same body gets the same answer. A list says with
`next` and a `Link` header where it goes on. Where an answer says `Retry-After`, wait that many seconds."""

SIGNATURE = f"""HTTP message signature (RFC 9421) in `Signature-Input` and `Signature`, by the party's Ed25519 key.

Label `{LABEL}`; components `{" ".join(COVERED)}`, with a body
`{" ".join(COVERED_WITH_BODY)}`; the digest is SHA-256 (RFC 9530); parameters `created`, `keyid` (base64url of the
SHA-256 of the public key), a fresh `nonce` (the aggregator's epoch, which a refusal tells as `epoch`, and then
base64url of 18 random bytes), `alg="ed25519"`, `tag="{TAG}"`. The URL is
the public one, path prefix included. Accepted for 120 s, and 30 s ahead of the aggregator's clock.
`fgpr-agent sign-request` makes the headers. The answer is signed by the service key, and bound to the request."""


def document(app: FastAPI, origin: str) -> dict[str, Any]:
    """The OpenAPI document of the application at that public address."""
    with warnings.catch_warnings():
        # HEAD has the id of its GET; it is left out below.
        warnings.filterwarnings("ignore", message="Duplicate Operation ID")
        made = get_openapi(
            title=app.title,
            version=app.version,
            openapi_version="3.1.0",
            description=DESCRIPTION,
            routes=app.routes,
            servers=[{"url": origin}],
        )
    for item in made["paths"].values():
        item.pop("head", None)
        for operation in item.values():
            _mend(operation)
    components = made["components"]
    schemas = components["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    inputs = [(model, "validation") for model in (*BODIES, Problem)]
    _, definitions = models_json_schema(inputs, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]  # a list of literals
    for name, schema in definitions["$defs"].items():
        # What is read and what is written has one form, so that the two halves agree on a shared class.
        schemas.setdefault(name, schema)
    components["schemas"] = {name: _portable(schemas[name]) for name in sorted(schemas)}
    components["securitySchemes"] = {SCHEME: {"type": "http", "scheme": "signature", "description": SIGNATURE}}
    return made


def _mend(operation: dict[str, Any]) -> None:
    # FastAPI tells of its own form of 422 where a route has parameters; here it is a problem document like the rest.
    for response in operation["responses"].values():
        content = response.get("content", {})
        if "application/problem+json" in content:
            content.pop("application/json", None)
        response.setdefault("headers", {})["X-Request-Id"] = {
            "description": "The id of this request.",
            "schema": {"type": "string"},
        }


def _portable(schema: Any) -> Any:
    """Pydantic's schema in the words of JSON Schema: patterns of ECMA-262, whole limits of whole numbers."""
    if isinstance(schema, list):
        return [_portable(inner) for inner in schema]
    if not isinstance(schema, dict):
        return int(schema) if isinstance(schema, float) and schema.is_integer() else schema
    made = {name: _portable(inner) for name, inner in schema.items()}
    if isinstance(made.get("pattern"), str):
        made["pattern"] = made["pattern"].replace(r"\A", "^").replace(r"\z", "$")
    return made

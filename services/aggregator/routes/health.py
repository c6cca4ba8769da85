"""For whoever runs the process: does it live, can it work, what has it counted. Unsigned, and without names."""

from fastapi import APIRouter, Response

from aggregator import metrics
from aggregator.routes.documents import probe
from aggregator.routes.wiring import GET, WiringDependency
from fgpr.errors import Unavailable

router = APIRouter(tags=["health"])

FRESH = {"Cache-Control": "no-store"}


@router.api_route("/livez", methods=GET, **probe("The process answers.", "text/plain"))
async def livez() -> Response:
    """Whether the process answers; restart it where it does not."""
    return Response("ok\n", media_type="text/plain", headers=FRESH)


@router.api_route("/readyz", methods=GET, **probe("It can work.", "text/plain", Unavailable))
def readyz(found: WiringDependency) -> Response:
    """Whether it can work: database reachable, writable and of the right schema, keys readable; 503 says what is not.

    Raises:
        Unavailable: it cannot; gives the reasons.
    """
    readiness = found.readiness.look()
    if not readiness.ready:
        raise Unavailable("; ".join(readiness.faults))
    return Response("ready\n", media_type="text/plain", headers=FRESH)


metrics_router = APIRouter(tags=["health"])


@metrics_router.api_route("/metrics", methods=GET, **probe("In Prometheus' text form.", "text/plain"))
def read_metrics(found: WiringDependency) -> Response:
    """What this process counts, and what stands in the database, in Prometheus' text form."""
    return Response(found.metrics.exposition(), headers=FRESH | {"Content-Type": metrics.CONTENT_TYPE})

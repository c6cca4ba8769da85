"""What routes find at `app.state.aggregator`, and the answers and dependencies that they share."""

import hashlib
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Depends, HTTPException, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from aggregator.auth import signed
from aggregator.known_keys import KnownKeys
from aggregator.metrics import Metrics
from aggregator.request_bodies import raw_body
from aggregator.service import admission
from aggregator.service.caller import Caller
from aggregator.service.context import Context
from aggregator.service.lookout import Lookout
from aggregator.service.readiness import ReadinessCheck
from aggregator.service.together import Together
from aggregator.settings import Settings
from aggregator.token_buckets import TokenBuckets
from fgpr.message import Message


@dataclass(frozen=True)
class Wiring:
    """One running application: its settings, its context, and the epoch of its database."""

    settings: Settings
    context: Context
    waiting: threading.BoundedSemaphore = field(repr=False)
    metrics: Metrics = field(repr=False)
    readiness: ReadinessCheck = field(repr=False)
    identities: TokenBuckets = field(repr=False)
    epoch: str
    lookout: Lookout = field(repr=False)
    together: Together = field(default_factory=partial(Together, run_in_threadpool), repr=False)
    keys: KnownKeys = field(default_factory=KnownKeys, repr=False)

    def clock(self) -> datetime:
        """The present time, aware."""
        return self.context.clock()

    def find_key(self, key_id: str, /) -> bytes | None:
        """The public key of that id, of whoever enrolled at any time."""
        key = admission.find_key(self.context, key_id)
        if key is not None:
            self.keys.add(key_id, key)
        return key

    def known_key(self, key_id: str, /) -> bytes:
        """The same where it was looked up before.

        Raises:
            NotInMemory: it was not.
        """
        return self.keys.get(key_id)

    def admit(self, key_id: str, /) -> None:
        """Take from the allowance of a key whose signature held.

        Raises:
            TooMany: it asks too often.
        """
        self.identities.take(key_id)

    @contextmanager
    def place_to_wait(self) -> Iterator[bool]:
        """Whether one more request may wait; each waiting request holds a connection."""
        taken = self.waiting.acquire(blocking=False)
        try:
            yield taken
        finally:
            if taken:
                self.waiting.release()


# The dependencies are coroutines, since FastAPI would hand each plain function to a thread of its own; and they have
# none themselves: each takes as long as a signature.


async def wiring(request: Request) -> Wiring:
    """The application of a request."""
    found: Wiring = request.app.state.aggregator
    return found


async def context_of(request: Request) -> Context:
    """The context of a request."""
    found: Wiring = request.app.state.aggregator
    return found.context


async def json_body(request: Request) -> bytes:
    """The raw body of a request that says it is JSON.

    Raises:
        HTTPException: 415, it says something else.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, headers={"Accept": "application/json"})
    return await raw_body(request)


ContextDependency = Annotated[Context, Depends(context_of)]
WiringDependency = Annotated[Wiring, Depends(wiring)]
SignedBy = Annotated[Caller, Depends(signed)]
Body = Annotated[bytes, Depends(json_body)]
Name = Annotated[str, Path(pattern="^[a-z0-9-]{1,64}$", examples=["turbofan"])]
Number = Annotated[int, Path(ge=0, le=2**31 - 1, examples=[3])]
Index = Annotated[int, Query(ge=0, le=2**53, examples=[0])]


GET = ["GET", "HEAD"]
"""Methods of a route that reads: the server leaves the body of an answer to HEAD out."""

FOR_EVER = "max-age=31536000, immutable"
"""Cache-Control of what never changes, after `public` or `private`."""


def written(message: Message) -> bytes:
    """A message as the body of an answer."""
    return message.model_dump_json().encode()


def answer(
    message: Message | bytes, status: int = 200, cache: str = "no-store", headers: Mapping[str, str] | None = None
) -> Response:
    """A message, or what it was written down as, as the body of an answer."""
    return Response(
        message if isinstance(message, bytes) else written(message),
        status_code=status,
        media_type="application/json",
        headers={"Cache-Control": cache, **(headers or {})},
    )


def tagged(request: Request, message: Message | bytes, cache: str) -> Response:
    """A message with its ETag; 304 without a body where the request's If-None-Match names it (RFC 9110, 13.1.2)."""
    response = answer(message, cache=cache)
    etag = f'"{hashlib.sha256(response.body).hexdigest()[:32]}"'
    response.headers["ETag"] = etag
    known = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
    if etag in known or known == ["*"]:
        return Response(status_code=304, headers={"Cache-Control": cache, "ETag": etag})
    return response


def next_page(found: Wiring, path: str, **query: int) -> dict[str, str]:
    """The Link header to where a list goes on; its address is the public one, as signatures take it."""
    return {"Link": f'<{found.settings.origin}{path}?{urlencode(query)}>; rel="next"'}

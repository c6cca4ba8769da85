"""Who sends a request: RFC 9421 signatures over raw bytes, before anything is parsed.

The URL that is verified is built from the configured public origin, never from the Host header, and freshness is
judged with the aggregator's own clock. Whether the key may do what it asks, and whether the nonce is new, is settled
later, in the transaction of the effect (`aggregator.service`).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from urllib.parse import quote

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from fastapi import Request
from http_message_signatures import (
    HTTPMessageSignaturesException,
    HTTPMessageVerifier,
    HTTPSignatureKeyResolver,
    InvalidSignature,
)
from http_message_signatures.algorithms import ED25519
from starlette.concurrency import run_in_threadpool

from aggregator import plain_requests
from aggregator.public_url import public_url
from aggregator.request_bodies import raw_body
from aggregator.service.caller import Caller
from fgpr import signatures
from fgpr.errors import Unauthenticated
from fgpr.signed_requests import LABEL, PARAMETERS, TAG, covered, is_nonce

MAX_AGE = timedelta(seconds=120)
"""How old a signature may be."""

SKEW = timedelta(seconds=30)
"""How far ahead of ours the clock of a client may be."""


class Headers(Protocol):
    """Header fields by names in any case."""

    def items(self) -> Iterable[tuple[str, str]]:
        """Every line, a repeated name as often as it was sent."""
        ...

    def __contains__(self, name: object, /) -> bool: ...


class NotInMemory(Exception):
    """The database has to be asked for a key."""


class Settings(Protocol):
    """What authentication needs of the settings."""

    @property
    def origin(self) -> str:
        """The public address, with its path prefix."""
        ...


class Authenticating(Protocol):
    """What the application keeps at `app.state.aggregator` for this module."""

    @property
    def settings(self) -> Settings:
        """The configuration."""
        ...

    @property
    def epoch(self) -> str:
        """With what the nonces of requests begin."""
        ...

    def clock(self) -> datetime:
        """The present time, aware."""
        ...

    def find_key(self, key_id: str, /) -> bytes | None:
        """The public key, 32 bytes, of a key id that was ever enrolled; may ask the database."""
        ...

    def known_key(self, key_id: str, /) -> bytes:
        """The same from memory; raises NotInMemory."""
        ...

    def admit(self, key_id: str, /) -> None:
        """Take from the allowance of a key whose signature held; raises TooMany."""
        ...


def verify_request(
    method: str,
    path: str,
    query: str,
    headers: Headers,
    body: bytes,
    *,
    origin: str,
    find_key: Callable[[str], bytes | None],
    now: datetime,
    epoch: str = "",
    max_age: timedelta = MAX_AGE,
    skew: timedelta = SKEW,
) -> Caller:
    """The holder of the key that signed this request (RFC 9421), its body included (RFC 9530).

    Args:
        method: as sent.
        path: percent-encoded, as the server saw it; with or without the path prefix of `origin`.
        query: without the question mark.
        headers: all header fields.
        body: the raw bytes; empty for a request without a body.
        origin: the public address of this aggregator, such as `https://fgpr.example/prefix`.
        find_key: the public key, 32 bytes, of a key id, or None; what it raises is passed on.
        now: an aware time.
        epoch: of the database; the nonce has to begin with it, so that no request outlives a restored backup.
        max_age: how old the signature may be, to the second, the limit included.
        skew: how far `created` may lie ahead of `now`, the limit included.

    Raises:
        Unauthenticated: not signed, badly signed, stale, from the future, or fewer components than
            `fgpr.signed_requests.covered`; the message says which.
    """
    if "signature-input" not in headers or "signature" not in headers:
        raise Unauthenticated(
            f"the request is not signed: send Signature-Input and Signature (RFC 9421) with label {LABEL}, tag {TAG}"
        )
    plain = plain_requests.read(method, public_url(origin, path, query), headers.items(), body)
    caller = None if plain is None else plain.holder(find_key, now, epoch, max_age, skew)
    if caller is not None:
        return caller
    keys = _Keys(find_key)
    verifier = _Verifier(keys, now, max_age, skew)
    message = _Message(method, public_url(origin, path, query), headers)
    try:
        (result,) = verifier.verify(message, max_age=max_age, expect_tag=TAG, expect_label=LABEL)
    except HTTPMessageSignaturesException as error:
        if keys.fault is not None:
            raise keys.fault from None
        raise Unauthenticated("the signature does not hold for this request and an enrolled key") from error
    # A component with parameters, such as content-digest;key="sha-256", is another component.
    missing = [name for name in covered(body) if f'"{name}"' not in result.covered_components]
    if missing:
        raise Unauthenticated(f"components missing from the signature: {', '.join(missing)}")
    try:
        verifier.verify_body(message, [result], body)
    except InvalidSignature as error:
        raise Unauthenticated("the content digest does not match the body") from error
    if not str(result.parameters["nonce"]).startswith(epoch):
        raise Unauthenticated(
            "the nonce does not begin with this aggregator's epoch, which changes when a backup is restored: sign "
            "again with the one in this answer",
            epoch=epoch,
        )
    created = datetime.fromtimestamp(int(result.parameters["created"]), UTC)
    return Caller(
        key_id=str(result.parameters["keyid"]),
        public_key=keys.found,
        nonce=str(result.parameters["nonce"]),
        nonce_expires=created + max_age + skew,
    )


async def signed(request: Request) -> Caller:
    """The caller of a route, from its signature by an enrolled key.

    A signature takes less time than handing the request to a thread and back; only for a key that is not in memory
    the database is asked, in a thread.

    Raises:
        Unauthenticated: see `verify_request`.
        TooMany: this key asks too often. Not before its signature holds: another one would use up its allowance.
    """
    aggregator: Authenticating = request.app.state.aggregator
    body = await raw_body(request)
    try:
        caller = signed_with(request, body, aggregator.known_key)
    except NotInMemory:
        caller = await run_in_threadpool(signed_with, request, body, aggregator.find_key)
    aggregator.admit(caller.key_id)
    return caller


async def signed_if_at_all(request: Request) -> Caller | None:
    """The caller of a route that may be open to anybody; None where the request carries no signature.

    The body of an unsigned request is not read: one that never ends would hold the connection for nothing.

    Raises:
        Unauthenticated: it carries one, and that does not hold.
    """
    if "signature-input" not in request.headers and "signature" not in request.headers:
        return None
    return await signed(request)


def signed_with(request: Request, body: bytes, find_key: Callable[[str], bytes | None]) -> Caller:
    """The caller of a route whose key is looked up elsewhere: in the body of an enrolment, say.

    Raises:
        Unauthenticated: see `verify_request`.
    """
    aggregator: Authenticating = request.app.state.aggregator
    raw_path: bytes = request.scope.get("raw_path") or quote(request.scope["path"]).encode()
    caller = verify_request(
        request.method,
        raw_path.decode("latin-1"),
        request.scope["query_string"].decode("latin-1"),
        request.headers,
        body,
        origin=aggregator.settings.origin,
        find_key=find_key,
        now=aggregator.clock(),
        epoch=aggregator.epoch,
    )
    # For the log, which tells a digest of it.
    request.state.key_id = caller.key_id
    return caller


@dataclass(frozen=True)
class _Message:
    """A request as the library wants it."""

    method: str
    url: str
    headers: Headers


class _Keys(HTTPSignatureKeyResolver):
    """Looks up a key and remembers it, or why the look-up failed: the library would take that for a bad signature."""

    def __init__(self, find_key: Callable[[str], bytes | None]) -> None:
        self._find_key = find_key
        self.found = b""
        self.fault: Exception | None = None

    def resolve_public_key(self, key_id: str) -> Ed25519PublicKey | None:
        try:
            self.found = self._find_key(key_id) or b""
            return signatures.load_public(self.found) if self.found else None
        except Exception as error:
            self.fault = error
            raise


class _Verifier(HTTPMessageVerifier):
    """The library's verifier with our clock, and with every parameter of ours required."""

    def __init__(self, keys: _Keys, now: datetime, max_age: timedelta, skew: timedelta) -> None:
        super().__init__(signature_algorithm=ED25519, key_resolver=keys)
        self._now = now
        self._max_age = max_age
        self._skew = skew

    def validate_created_and_expires(
        self,
        sig_input: Any,
        max_age: timedelta | None = None,  # noqa: ARG002 - the library's; ours came with the constructor
    ) -> None:
        """Replaces the check against the library's own clock; called once, before the key is looked up.

        Raises:
            Unauthenticated: a parameter is missing, the nonce is malformed, or the time is outside the limits.
        """
        parameters = sig_input.params
        missing = [name for name in PARAMETERS if name not in parameters]
        if missing:
            raise Unauthenticated(f"parameters missing from the signature: {', '.join(missing)}")
        if not is_nonce(parameters["nonce"]):
            raise Unauthenticated("the nonce has to be base64url, without padding, of 16 to 64 random bytes")
        # Whole seconds as integers: a date of 15 digits would overflow a datetime.
        age = self._now.timestamp() - parameters["created"]
        expired = parameters.get("expires", self._now.timestamp()) < self._now.timestamp()
        if expired or not -self._skew.total_seconds() <= age <= self._max_age.total_seconds():
            server_time = self._now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
            raise Unauthenticated(
                f"clock skew: the request was signed {abs(age):.0f} s {'before' if age >= 0 else 'after'} this "
                f"server's time, {server_time}; it may be {self._max_age.total_seconds():.0f} s old and "
                f"{self._skew.total_seconds():.0f} s ahead",
                server_time=server_time,
            )

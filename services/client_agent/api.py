"""The aggregator's HTTP interface as the agent uses it: signs, retries, and raises the error classes of `fgpr`.

Every attempt is signed anew, with its own time and nonce, over the same bytes; the aggregator answers the same body
twice alike, so every method may be tried again. Nothing here logs a body or a key.
"""

import re
import secrets
import ssl
import time
from collections.abc import Callable, Generator, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Self
from urllib.parse import quote

import httpx
import stamina.instrumentation
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from http_message_signatures import HTTPMessageSigner, MappingKeyResolver
from http_message_signatures.algorithms import ED25519

from client_agent.answers import AnswerVerifier
from client_agent.problems import refusal
from client_agent.retrying import PASSING, Passing, seconds, wait
from fgpr import signatures
from fgpr.errors import LocalProtocolError, QuotaExceeded, RemoteProtocolError, Unauthenticated, Unavailable
from fgpr.signed_requests import ANSWER_LABEL, LABEL, NONCE_BYTES, TAG, covered

RESPONSE_LIMIT = 64 * 2**20
"""Largest answer that is read, in bytes."""

TIMEOUT = httpx.Timeout(60.0, connect=10.0)
"""Seconds between two bytes of an answer, and for a connection: an aggregator may compute before it answers."""

# stamina reports retries through structlog where that is installed, which prints to standard output: that may be a CSV
# file. A retry_context has no switch of its own for this, only the process has one.
stamina.instrumentation.set_on_retry_hooks([])

_EPOCH = re.compile(r"[A-Za-z0-9_-]{22}")
_PATH = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})+")

_SIGNED_FIELDS = ("Content-Type", "Content-Digest", "Signature-Input", "Signature")

Params = Mapping[str, str | int]


class Api:
    """A connection to one federation at one aggregator.

    A path that begins with a slash is taken from the origin, any other from the federation:
    `rounds/current` is `ORIGIN/v1/federations/FEDERATION/rounds/current`. All methods return the bytes of the answer.

    Args:
        origin: address of the aggregator, with its path prefix, with or without a slash at the end.
        federation: name of the federation.
        key: signs the requests.
        transport: another way to the aggregator than the network.
        tls: whose certificates are believed; the usual authorities where None.
        proxy: address of the HTTP proxy on the way; None leaves it to HTTPS_PROXY, HTTP_PROXY and NO_PROXY.
        clock: the present time, aware.
        timeout: of a single attempt.
        attempts: how often a request is tried at most.
        total_seconds: after this time, in seconds, no further attempt begins and no answer is read on.
        wait_initial: seconds before the second attempt; doubled for each further one.
        epoch: of the aggregator, as far as it is known; another one is learned from its refusal, and told.
        on_epoch: is told of an epoch that was learned.
        service_key: the aggregator's public key, 32 bytes, which has to sign every answer; None takes unsigned ones.

    Every method raises:
        RequestError: a subclass that says why the aggregator refuses the request; other classes of `fgpr.errors`
            where it names one.
        Unavailable: no attempt succeeded; says why the last one failed.
        RemoteProtocolError: an answer that no aggregator of ours gives, one that the service key did not sign for this
            very request, or one above `RESPONSE_LIMIT`.
        LocalProtocolError: an address or a path that is none.
    """

    def __init__(
        self,
        origin: str,
        federation: str,
        key: Ed25519PrivateKey,
        *,
        transport: httpx.BaseTransport | None = None,
        tls: ssl.SSLContext | None = None,
        proxy: str | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        timeout: httpx.Timeout = TIMEOUT,
        attempts: int = 6,
        total_seconds: float = 300.0,
        wait_initial: float = 0.5,
        service_key: bytes | None = None,
        epoch: str = "",
        on_epoch: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._origin = _checked_origin(origin)
        self._federation = f"/v1/federations/{quote(federation, safe='')}/"
        self._signature = _Signature(key, clock, epoch)
        self._on_epoch = on_epoch
        self._clock = clock
        self._attempts = attempts
        self._total_seconds = total_seconds
        self._wait_initial = wait_initial
        self.trust(service_key)
        # No compression: a small answer may unpack into one that does not fit the memory.
        try:
            self._client = httpx.Client(
                transport=transport,
                timeout=timeout,
                headers={"Accept-Encoding": "identity"},
                verify=True if tls is None else tls,
                proxy=proxy,
            )
        except (ValueError, httpx.InvalidURL, ImportError) as error:
            raise LocalProtocolError(f"no proxy can be reached by the address that is set for it: {error}") from error

    def trust(self, service_key: bytes | None) -> None:
        """Take only answers signed by this key from now on; unsigned ones too where it is None."""
        self._answers = None if service_key is None else AnswerVerifier(service_key)

    def expect_epoch(self, epoch: str) -> None:
        """Sign for this epoch of the aggregator from now on."""
        self._signature.epoch = epoch

    def get(self, path: str, params: Params | None = None) -> bytes:
        """Read, signed."""
        return self._send("GET", path, params=params, auth=self._signature)

    def get_public(self, path: str, params: Params | None = None) -> bytes:
        """Read without telling who asks."""
        return self._send("GET", path, params=params)

    def post(self, path: str, body: bytes) -> bytes:
        """Send a JSON body, signed."""
        return self._send("POST", path, body=body, auth=self._signature)

    def put(self, path: str, body: bytes) -> bytes:
        """Put a JSON body, signed."""
        return self._send("PUT", path, body=body, auth=self._signature)

    def delete(self, path: str, body: bytes = b"") -> bytes:
        """Delete, signed."""
        return self._send("DELETE", path, body=body, auth=self._signature)

    def signed_headers(self, method: str, path: str, body: bytes = b"") -> dict[str, str]:
        """The header fields of a signed request that another program is to send, within two minutes and once.

        Args:
            method: as it will be sent.
            path: with its query.
            body: the very bytes that will be sent.

        Raises:
            LocalProtocolError: the path is none.
        """
        plain, question, query = path.partition("?")
        request = self._request(method, self._checked(plain) + question + query, body=body)
        if not request.url.raw_path.decode("ascii").endswith(path):
            raise LocalProtocolError(f"{path!r} is not percent-encoded: other programs would send it differently")
        next(self._signature.auth_flow(request))
        return {name: request.headers[name] for name in _SIGNED_FIELDS if name in request.headers}

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _send(
        self, method: str, path: str, *, params: Params | None = None, body: bytes = b"", auth: httpx.Auth | None = None
    ) -> bytes:
        try:
            return self._try(method, path, params=params, body=body, auth=auth)
        except Unauthenticated as error:
            epoch = error.details.get("epoch")
            if not isinstance(epoch, str) or not _EPOCH.fullmatch(epoch) or epoch == self._signature.epoch:
                raise
            # Once: whoever names another one each time is no aggregator of ours.
            self._signature.epoch = epoch
            self._on_epoch(epoch)
            return self._try(method, path, params=params, body=body, auth=auth)

    def _try(
        self, method: str, path: str, *, params: Params | None = None, body: bytes = b"", auth: httpx.Auth | None = None
    ) -> bytes:
        path = self._checked(path)
        deadline = time.monotonic() + self._total_seconds
        try:
            for attempt in stamina.retry_context(
                on=lambda error: wait(error, deadline),
                attempts=self._attempts,
                timeout=None,
                wait_initial=self._wait_initial,
                wait_max=10.0,
                wait_jitter=self._wait_initial,
            ):
                with attempt:
                    return self._attempt(self._request(method, path, params, body), auth, deadline)
        except Passing as error:
            raise Unavailable(f"{method} {path}: {error}", retry_after=error.retry_after) from error
        raise AssertionError("retry_context returns or raises")

    def _checked(self, path: str) -> str:
        path = path if path.startswith("/") else self._federation + path
        if not _PATH.fullmatch(path) or "/../" in f"{path}/":
            raise LocalProtocolError(f"{path!r} is no percent-encoded path")
        return path

    def _request(self, method: str, path: str, params: Params | None = None, body: bytes = b"") -> httpx.Request:
        return self._client.build_request(
            method,
            self._origin + path,
            params=params or None,
            content=body or None,
            headers={"Content-Type": "application/json"} if body else None,
        )

    def _attempt(self, request: httpx.Request, auth: httpx.Auth | None, deadline: float) -> bytes:
        try:
            response = self._client.send(request, auth=auth, stream=True)
            try:
                content = _read(response, deadline)
            finally:
                response.close()
        except (httpx.UnsupportedProtocol, httpx.LocalProtocolError) as error:
            raise LocalProtocolError(f"cannot send to {self._origin}: {error}") from error
        except httpx.TransportError as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise LocalProtocolError(
                    f"{self._origin} has a certificate that no known authority vouches for ({error}): "
                    "enrol with --ca, or renew ca.pem in the home"
                ) from error
            raise Passing(f"no answer from {self._origin}: {type(error).__name__} {error}".rstrip()) from error
        # What a gateway says on its own is unsigned, as is what the aggregator says to whom it does not serve now:
        # believed no further than that it is worth another try.
        passing = response.status_code in PASSING
        signed = ANSWER_LABEL in response.headers.get("Signature-Input", "")
        if self._answers is not None and response.status_code < 500 and (signed or not passing):
            self._answers.check(response, content)
        if response.is_success:
            return content
        refused = refusal(response.status_code, content, self._clock())
        # A quota is not over in a moment.
        if passing and not (signed and isinstance(refused, QuotaExceeded)):
            raise Passing(str(refused), seconds(response.headers.get("Retry-After", "")))
        raise refused


class _Signature(httpx.Auth):
    """Signs a request (RFC 9421)."""

    requires_request_body = True

    def __init__(self, key: Ed25519PrivateKey, clock: Callable[[], datetime], epoch: str) -> None:
        self.epoch = epoch
        self._key_id = signatures.key_id(signatures.public_bytes(key))
        self._clock = clock
        keys = MappingKeyResolver(public_keys={}, private_keys={self._key_id: key})
        self._signer = HTTPMessageSigner(signature_algorithm=ED25519, key_resolver=keys)

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        self._signer.sign(
            request,
            key_id=self._key_id,
            created=self._clock(),
            nonce=self.epoch + secrets.token_urlsafe(NONCE_BYTES),
            label=LABEL,
            tag=TAG,
            covered_component_ids=covered(request.content),
            body=request.content or None,
        )
        yield request


def _read(response: httpx.Response, deadline: float) -> bytes:
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise RemoteProtocolError("a compressed answer, which was not asked for")
    content = bytearray()
    for chunk in response.iter_bytes():
        content += chunk
        if len(content) > RESPONSE_LIMIT:
            raise RemoteProtocolError(f"an answer of more than {RESPONSE_LIMIT} bytes")
        if time.monotonic() > deadline:
            raise httpx.ReadTimeout("the answer came too slowly")
    return bytes(content)


def _checked_origin(origin: str) -> str:
    try:
        url = httpx.URL(origin)
    except httpx.InvalidURL as error:
        raise LocalProtocolError(f"{origin!r} is no address: {error}") from error
    if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment or url.userinfo:
        raise LocalProtocolError(f"the address of an aggregator is http(s)://HOST[:PORT][/PREFIX], not {origin!r}")
    return str(url).rstrip("/")

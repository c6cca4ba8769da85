"""Answers are the aggregator's, and for the request that was sent: RFC 9421 signatures by the service key.

The signature of the answer to a signed request covers the request's own, nonce and all, so that an older answer holds
for no other request; no clock is needed for that.
"""

from typing import Any, Protocol

from http_message_signatures import (
    HTTPMessageSignaturesException,
    HTTPMessageVerifier,
    MappingKeyResolver,
)
from http_message_signatures.algorithms import ED25519

from fgpr import signatures
from fgpr.errors import RemoteProtocolError
from fgpr.signed_requests import ANSWER_LABEL, ANSWER_TAG, covered_by_answer


class Response(Protocol):
    """An answer with its request, as an HTTP client gives it; header fields are found by names in any case."""

    @property
    def status_code(self) -> int:
        """The status."""
        ...

    @property
    def headers(self) -> Any:
        """The answer's header fields."""
        ...

    @property
    def request(self) -> Any:
        """What was sent, with method, URL and header fields."""
        ...


class AnswerVerifier(HTTPMessageVerifier):
    """Verifies the answers of one aggregator.

    Args:
        service_key: its public key, 32 bytes.
    """

    def __init__(self, service_key: bytes) -> None:
        keys = {signatures.key_id(service_key): signatures.load_public(service_key)}
        resolver = MappingKeyResolver(public_keys=keys, private_keys={})
        super().__init__(signature_algorithm=ED25519, key_resolver=resolver)

    def validate_created_and_expires(self, sig_input: Any, max_age: Any = None) -> None:
        """Nothing: an answer is fresh because it covers the request, whatever the clocks say."""

    def check(self, response: Response, content: bytes) -> None:
        """Check the signature of an answer whose content was read.

        Raises:
            RemoteProtocolError: there is none, it does not hold, or it is for another request.
        """
        signed = "signature" in response.request.headers
        try:
            self.verify(
                response,
                expect_tag=ANSWER_TAG,
                expect_label=ANSWER_LABEL,
                require_components=covered_by_answer(signed),
                body=content,
            )
        except HTTPMessageSignaturesException as error:
            raise RemoteProtocolError(
                f"an answer ({response.status_code}) that the aggregator did not sign for this request: whoever stands "
                f"in between made it up, changed it or brought an old one back ({error})"
            ) from error

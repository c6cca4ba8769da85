"""What a signed request carries, told once for the side that signs and the side that verifies.

HTTP Message Signatures (RFC 9421) with Ed25519 over the components below and, where there is a body, its
Content-Digest (RFC 9530, sha-256). The parameters are created, keyid (`fgpr.signatures.key_id`), nonce, alg and tag.
The answer is signed by the service key over the components named further below, which bind it to its request.
"""

import re

LABEL = "fgpr"
"""Dictionary key of the signature in Signature-Input and Signature; it is not covered by the signature."""

TAG = "fgpr-v1"
"""The tag parameter: a signature made for another purpose is never taken for ours."""

PARAMETERS = ("created", "keyid", "nonce", "alg", "tag")

COVERED = ("@method", "@authority", "@path", "@query")
"""Components that every request covers."""

COVERED_WITH_BODY = (*COVERED, "content-type", "content-digest")
"""Components that a request with a body covers."""

NONCE_BYTES = 18
"""Random bytes in a nonce that we make, after the epoch: 144 bits, 24 characters of base64url without padding."""

ANSWER_LABEL = "fgpr-answer"
"""Dictionary key of the signature of an answer."""

ANSWER_TAG = "fgpr-answer-v1"
"""The tag parameter of an answer's signature."""

COVERED_OF_SIGNED = ('"@status"', '"content-digest"', '"signature";req;key="fgpr"')
"""Components that the answer to a signed request covers: with the request's signature it covers its nonce."""

COVERED_OF_UNSIGNED = (
    '"@status"',
    '"content-digest"',
    '"@method";req',
    '"@authority";req',
    '"@path";req',
    '"@query";req',
)
"""Components that the answer to an unsigned request covers."""

_NONCE = re.compile(r"[A-Za-z0-9_-]{22,86}")


def covered(body: bytes) -> tuple[str, ...]:
    """The components that a request with this body has to cover."""
    return COVERED_WITH_BODY if body else COVERED


def covered_by_answer(signed: bool) -> tuple[str, ...]:
    """The components that the answer to a request has to cover, by whether the request was signed."""
    return COVERED_OF_SIGNED if signed else COVERED_OF_UNSIGNED


def is_nonce(text: str) -> bool:
    """Whether `text` is base64url without padding of at least 128 and at most 512 bits."""
    return _NONCE.fullmatch(text) is not None

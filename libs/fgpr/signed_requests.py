"""What a signed request carries, told once for the side that signs and the side that verifies.

HTTP Message Signatures (RFC 9421) with Ed25519 over the components below and, where there is a body, its
Content-Digest (RFC 9530, sha-256). The parameters are created, keyid (`fgpr.signatures.key_id`), nonce, alg and tag.
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
"""Random bytes in a nonce that we make: 144 bits, 24 characters of base64url without padding."""

_NONCE = re.compile(r"[A-Za-z0-9_-]{22,86}")


def covered(body: bytes) -> tuple[str, ...]:
    """The components that a request with this body has to cover."""
    return COVERED_WITH_BODY if body else COVERED


def is_nonce(text: str) -> bool:
    """Whether `text` is base64url without padding of at least 128 and at most 512 bits."""
    return _NONCE.fullmatch(text) is not None

"""Who sends a request, as authentication found out; the service judges it in the transaction of the effect."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Caller:
    """The holder of a key that signed a request.

    Attributes:
        key_id: base64url SHA-256 of its public key.
        public_key: the key, 32 bytes.
        nonce: the request's nonce; the service stores it in the transaction of the effect.
        nonce_expires: until when a second use must be refused.
    """

    key_id: str
    public_key: bytes
    nonce: str
    nonce_expires: datetime

"""Ed25519 signatures over labelled canonical JSON.

A signature binds what the bytes are for: the signed message is the label, a zero byte and the canonical JSON of the
value (`fgpr.canonical`), so that a signed plan can never be shown as a signed cohort. Ed25519 is RFC 8032: keys and
signing from the `cryptography` package, verification from libsodium (PyNaCl), which takes half of OpenSSL's time and
refuses keys of small order, under which a signature holds for every message (docs/adr/0017).
"""

import base64
import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from nacl.bindings import crypto_core_ed25519_is_valid_point
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from fgpr.errors import CryptographicError, VerificationError

KEY_BYTES = 32
SIGNATURE_BYTES = 64


def sign(key: Ed25519PrivateKey, label: str, encoded: bytes) -> bytes:
    """Signature of 64 bytes over canonical JSON under `label`."""
    return key.sign(_message(label, encoded))


def verify(public_key: bytes, label: str, encoded: bytes, signature: bytes) -> None:
    """Check a signature made by `sign`.

    Args:
        public_key: 32 bytes.
        label: what the value is for.
        encoded: the canonical JSON that was signed.
        signature: 64 bytes.

    Raises:
        VerificationError: the signature is not of this key over these bytes and label.
        CryptographicError: the key does not have its form.
    """
    if not holds(public_key, _message(label, encoded), signature):
        raise VerificationError(f"the signature under {label!r} does not hold")


def holds(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether a signature of 64 bytes is one of this key over exactly these bytes.

    Raises:
        CryptographicError: the key does not have its form.
    """
    if len(public_key) != KEY_BYTES:
        raise CryptographicError(f"an Ed25519 public key has {KEY_BYTES} bytes, not {len(public_key)}")
    if len(signature) != SIGNATURE_BYTES:
        return False
    try:
        VerifyKey(public_key).verify(message, signature)
    except BadSignatureError:
        return False
    return True


def check_key(public_key: bytes) -> None:
    """Check a key that somebody else made, before it is taken for anybody's.

    Raises:
        CryptographicError: not 32 bytes that encode a point of prime order: by others anybody could sign.
    """
    if len(public_key) != KEY_BYTES or not crypto_core_ed25519_is_valid_point(public_key):
        raise CryptographicError(
            f"an Ed25519 public key is a point of prime order in {KEY_BYTES} bytes; make a new one"
        )


def public_bytes(key: Ed25519PrivateKey) -> bytes:
    """The public half of `key`, 32 bytes."""
    return key.public_key().public_bytes_raw()


def key_id(public_key: bytes) -> str:
    """The keyid of a public key: base64url, without padding, of its SHA-256."""
    return base64.urlsafe_b64encode(hashlib.sha256(public_key).digest()).rstrip(b"=").decode("ascii")


def load_public(public_key: bytes) -> Ed25519PublicKey:
    """An Ed25519 public key from its 32 bytes.

    Raises:
        CryptographicError: not 32 bytes.
    """
    try:
        return Ed25519PublicKey.from_public_bytes(public_key)
    except ValueError as error:
        raise CryptographicError(f"an Ed25519 public key has {KEY_BYTES} bytes: {error}") from error


def _message(label: str, encoded: bytes) -> bytes:
    return label.encode() + b"\0" + encoded

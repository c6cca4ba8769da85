"""HPKE boxes (RFC 9180, base mode): a contributor's share, sealed for one seat of one plan.

The suite is DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM with empty associated data, from the `cryptography`
package. The info binds the box to its purpose, plan, sender and seat: a box copied to another plan does not open.
"""

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from fgpr import canonical
from fgpr.errors import CryptographicError

SUITE = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_128_GCM)
LABEL = "fgpr-v1/box"

_P = 2**255 - 19
_LOW_ORDER = {
    0,
    1,
    0x00B8495F16056286FDB1329CEB8D09DA6AC49FF1FAE35616AEB8413B7C7AEBE0,
    0x57119FD0DD4E22D8868E1C58C45C44045BEF839C55B1D0B1248C50A3BC959C5F,
    _P - 1,
    _P,
    _P + 1,
}
"""Every coordinate that X25519 takes to zero, whatever the scalar (RFC 7748, section 6.1); sealing refuses these."""

_COORDINATE = 2**255 - 1
KEY_BYTES = 32
OVERHEAD = 48
"""Bytes that a box adds to its plaintext: the encapsulated key and the tag."""


def box_info(plan_digest: bytes, sender: str, sender_key: bytes, seat: int) -> bytes:
    """The HPKE info of the box from `sender` (with identity key `sender_key`, 32 bytes) to `seat` (1..c)."""
    fields = {
        "label": LABEL,
        "plan": canonical.to_text(plan_digest),
        "sender": sender,
        "sender_key": canonical.to_text(sender_key),
        "seat": seat,
    }
    return canonical.encode(fields)


def check_key(opening_key: bytes) -> None:
    """Refuse a public key for which nobody could seal: one such seat would stop every contributor.

    Raises:
        CryptographicError: not 32 bytes, or a point of low order.
    """
    if len(opening_key) != KEY_BYTES:
        raise CryptographicError(f"nobody can seal for this opening key: {len(opening_key)} bytes, not {KEY_BYTES}")
    # The highest bit is not part of the coordinate.
    if int.from_bytes(opening_key, "little") & _COORDINATE in _LOW_ORDER:
        raise CryptographicError("nobody can seal for this opening key: a point of low order")


def seal(plaintext: bytes, opening_key: bytes, info: bytes) -> bytes:
    """A box that only the holder of the private half of `opening_key` (32 bytes) opens under the same info.

    Raises:
        CryptographicError: the key does not have its form or is a low-order point.
    """
    try:
        return SUITE.encrypt(plaintext, X25519PublicKey.from_public_bytes(opening_key), info=info)
    except ValueError as error:
        raise CryptographicError(f"cannot seal for this opening key: {error}") from error


def open_box(box: bytes, opening_key: X25519PrivateKey, info: bytes) -> bytes:
    """The plaintext of `box`.

    Raises:
        CryptographicError: sealed for another key or under another info, changed, or too short.
    """
    try:
        return SUITE.decrypt(box, opening_key, info=info)
    except (InvalidTag, ValueError) as error:
        raise CryptographicError("the box does not open under this key, plan, sender and seat") from error

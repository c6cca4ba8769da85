"""HPKE boxes (RFC 9180, base mode): a contributor's share, sealed for one seat of one plan.

The suites are those of `fgpr.secagg.suites`, with empty associated data, from the `cryptography` package. The info
binds the box to its purpose, plan, sender and seat: a box copied to another plan does not open.
"""

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

from fgpr import canonical
from fgpr.errors import CryptographicError
from fgpr.secagg.suites import SUITES, X25519_BYTES, HybridPrivateKey, HybridPublicKey, PrivateHalf, SuiteName, suite_of

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


def check_key(opening_key: bytes, suite: SuiteName = "x25519") -> None:
    """Refuse a public key for which nobody could seal: one such seat would stop every contributor.

    Raises:
        CryptographicError: not of the suite's form, or a point of low order.
    """
    wanted = SUITES[suite].public_bytes
    if len(opening_key) != wanted:
        raise CryptographicError(f"nobody can seal for this opening key: {len(opening_key)} bytes, not {wanted}")
    if suite != "x25519":
        try:
            HybridPublicKey(opening_key)
        except ValueError as error:
            raise CryptographicError(f"nobody can seal for this opening key: {error}") from error
    # The highest bit is not part of the coordinate; in the hybrid, X25519's half comes last.
    if int.from_bytes(opening_key[-X25519_BYTES:], "little") & _COORDINATE in _LOW_ORDER:
        raise CryptographicError("nobody can seal for this opening key: a point of low order")


def seal(plaintext: bytes, opening_key: bytes, info: bytes, suite: SuiteName = "x25519") -> bytes:
    """A box that only the holder of the private half of `opening_key` opens under the same info.

    Raises:
        CryptographicError: the key does not have its suite's form or is a low-order point.
    """
    algorithms = SUITES[suite].hpke
    try:
        if suite == "x25519":
            return algorithms.encrypt(plaintext, X25519PublicKey.from_public_bytes(opening_key), info=info)
        return algorithms.encrypt(plaintext, HybridPublicKey(opening_key).pair, info=info)
    except ValueError as error:
        raise CryptographicError(f"cannot seal for this opening key: {error}") from error


def open_box(box: bytes, opening_key: PrivateHalf, info: bytes) -> bytes:
    """The plaintext of `box`.

    Raises:
        CryptographicError: sealed for another key or under another info, changed, or too short.
    """
    algorithms = SUITES[suite_of(opening_key)].hpke
    pair = opening_key.pair if isinstance(opening_key, HybridPrivateKey) else opening_key
    try:
        return algorithms.decrypt(box, pair, info=info)
    except (InvalidTag, ValueError) as error:
        raise CryptographicError("the box does not open under this key, plan, sender and seat") from error

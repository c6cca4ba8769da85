"""The HPKE suites (RFC 9180) of boxes, and opening keys under each.

"x25519": DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM. "mlkem768-x25519": the hybrid of ML-KEM-768 (FIPS 203)
and X25519 of the `cryptography` package's hpke module, HKDF-SHA256, AES-256-GCM: boxes that somebody keeps today
stay closed to a later quantum computer while one of the two holds. A public key of the hybrid is that of ML-KEM and
then that of X25519; a private half is ML-KEM's seed of 64 bytes and then X25519's 32.
"""

from dataclasses import dataclass
from typing import Literal, Self, get_args

from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from fgpr.errors import CryptographicError

SuiteName = Literal["x25519", "mlkem768-x25519"]

ORDER: tuple[SuiteName, ...] = get_args(SuiteName)
"""From the weakest to the strongest."""

TAG_BYTES = 16
MLKEM_PUBLIC, MLKEM_SEED, X25519_BYTES = 1184, 64, 32


@dataclass(frozen=True)
class Suite:
    """One suite.

    Attributes:
        hpke: the algorithms.
        public_bytes: length of a public opening key.
        private_bytes: length of a private half; any such bytes are one.
        overhead: bytes that a box adds to its plaintext: the encapsulated key and the tag.
    """

    hpke: hpke.Suite
    public_bytes: int
    private_bytes: int
    overhead: int


SUITES: dict[SuiteName, Suite] = {
    "x25519": Suite(
        hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_128_GCM),
        X25519_BYTES,
        X25519_BYTES,
        hpke.KEM.X25519.enc_length() + TAG_BYTES,
    ),
    "mlkem768-x25519": Suite(
        hpke.Suite(hpke.KEM.MLKEM768_X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_256_GCM),
        MLKEM_PUBLIC + X25519_BYTES,
        MLKEM_SEED + X25519_BYTES,
        hpke.KEM.MLKEM768_X25519.enc_length() + TAG_BYTES,
    ),
}


class HybridPublicKey:
    """A public opening key of the hybrid suite.

    Raises:
        ValueError: not 1,216 bytes, or no ML-KEM key.
    """

    def __init__(self, raw: bytes) -> None:
        if len(raw) != MLKEM_PUBLIC + X25519_BYTES:
            raise ValueError(f"a hybrid public key has {MLKEM_PUBLIC + X25519_BYTES} bytes, not {len(raw)}")
        self._raw = raw
        self.pair = hpke.MLKEM768X25519PublicKey(
            MLKEM768PublicKey.from_public_bytes(raw[:MLKEM_PUBLIC]),
            X25519PublicKey.from_public_bytes(raw[MLKEM_PUBLIC:]),
        )

    def public_bytes_raw(self) -> bytes:
        """The 1,216 bytes."""
        return self._raw


class HybridPrivateKey:
    """A private half of the hybrid suite; shows nothing of itself."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._mlkem = MLKEM768PrivateKey.from_seed_bytes(raw[:MLKEM_SEED])
        self._x25519 = X25519PrivateKey.from_private_bytes(raw[MLKEM_SEED:])
        self.pair = hpke.MLKEM768X25519PrivateKey(self._mlkem, self._x25519)

    @classmethod
    def from_private_bytes(cls, raw: bytes) -> Self:
        """From 96 bytes.

        Raises:
            ValueError: another length.
        """
        if len(raw) != MLKEM_SEED + X25519_BYTES:
            raise ValueError(f"a hybrid private half has {MLKEM_SEED + X25519_BYTES} bytes, not {len(raw)}")
        return cls(raw)

    def private_bytes_raw(self) -> bytes:
        """The 96 bytes."""
        return self._raw

    def public_key(self) -> HybridPublicKey:
        """The public half."""
        parts = (self._mlkem.public_key().public_bytes_raw(), self._x25519.public_key().public_bytes_raw())
        return HybridPublicKey(b"".join(parts))


PrivateHalf = X25519PrivateKey | HybridPrivateKey


def private_half(raw: bytes) -> PrivateHalf:
    """A private half from its bytes, whose number tells the suite.

    Raises:
        CryptographicError: no suite has keys of that length.
    """
    if len(raw) == SUITES["x25519"].private_bytes:
        return X25519PrivateKey.from_private_bytes(raw)
    if len(raw) == SUITES["mlkem768-x25519"].private_bytes:
        return HybridPrivateKey.from_private_bytes(raw)
    raise CryptographicError(f"no suite has private opening keys of {len(raw)} bytes")


def suite_of(key: PrivateHalf) -> SuiteName:
    """The suite of a private half."""
    return "mlkem768-x25519" if isinstance(key, HybridPrivateKey) else "x25519"

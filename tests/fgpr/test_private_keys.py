import stat

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from fgpr import private_keys
from fgpr.errors import CryptographicError

# RFC 8410, section 10.3: an Ed25519 private key in PKCS #8.
RFC_8410 = b"""-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
-----END PRIVATE KEY-----
"""


def test_the_key_of_rfc_8410() -> None:
    key = private_keys.from_pem(RFC_8410, "key.pem")
    assert key.private_bytes_raw().hex() == "d4ee72dbf913584ad5b6d8f1f769f8ad3afe7c28cbf1d4fbe097a88f44755842"
    assert private_keys.to_pem(key) == RFC_8410


def test_other_keys_are_refused() -> None:
    other = X25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with pytest.raises(CryptographicError, match=r"key\.pem holds a key of another kind than Ed25519"):
        private_keys.from_pem(other, "key.pem")
    locked = Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x")
    )
    for raw in (locked, b"", b"\xff", RFC_8410[:60]):
        with pytest.raises(CryptographicError, match="no unencrypted PKCS #8 PEM key"):
            private_keys.from_pem(raw, "key.pem")


PASSPHRASE = b"correct horse battery"


def test_a_key_under_a_passphrase() -> None:
    key = private_keys.from_pem(RFC_8410, "key.pem")
    locked = private_keys.to_pem(key, PASSPHRASE)
    assert locked.startswith(b"-----BEGIN ENCRYPTED PRIVATE KEY-----\n")
    assert len(locked) < private_keys.FILE_LIMIT
    assert key.private_bytes_raw() not in locked
    again = private_keys.from_pem(locked, "key.pem", PASSPHRASE)
    assert again.private_bytes_raw() == key.private_bytes_raw()
    # No passphrase, another one, and a key that was swapped in by somebody who does not know it.
    for raw, passphrase in ((locked, None), (locked, PASSPHRASE + b"!"), (RFC_8410, PASSPHRASE)):
        with pytest.raises(CryptographicError, match=r"key\.pem holds no .*key") as caught:
            private_keys.from_pem(raw, "key.pem", passphrase)
        assert "horse" not in str(caught.value)


@pytest.mark.parametrize(
    ("raw", "length"), [(b"", 0), (b"x" * 11, 11), (b"x" * 11 + b"\r\n", 11), (b"\n" * 20, 0), (b"x" * 1001, 1001)]
)
def test_what_is_no_passphrase(raw: bytes, length: int) -> None:
    with pytest.raises(CryptographicError, match=f"f holds a passphrase of {length} bytes: it has 12 at least"):
        private_keys.passphrase_from(raw, "f")


@pytest.mark.parametrize("raw", [PASSPHRASE, PASSPHRASE + b"\n", PASSPHRASE + b"\r\n"])
def test_a_passphrase_from_a_file(raw: bytes) -> None:
    assert private_keys.passphrase_from(raw, "f") == PASSPHRASE


@pytest.mark.parametrize("bits", range(9))
def test_each_permission_bit(bits: int) -> None:
    mode = stat.S_IFREG | 0o600 | 1 << bits
    if 1 << bits & 0o077:
        with pytest.raises(CryptographicError, match="chmod 600 f"):
            private_keys.check_file("f", mode, owner=5, user=5)
    else:
        private_keys.check_file("f", mode, owner=5, user=5)


@pytest.mark.parametrize("bits", range(9))
def test_each_permission_bit_of_a_folder(bits: int) -> None:
    mode = stat.S_IFDIR | 0o700 | 1 << bits
    if 1 << bits & 0o022:
        with pytest.raises(CryptographicError, match="chmod 700 d"):
            private_keys.check_folder("d", mode, owner=5, user=5)
    else:
        private_keys.check_folder("d", mode, owner=5, user=5)


def test_owners() -> None:
    private_keys.check_folder("d", stat.S_IFDIR | 0o755, owner=0, user=5)
    with pytest.raises(CryptographicError, match="belongs to uid 6"):
        private_keys.check_folder("d", stat.S_IFDIR | 0o700, owner=6, user=5)
    with pytest.raises(CryptographicError, match="belongs to uid 0, this process runs as 5: chown 5 f"):
        private_keys.check_file("f", stat.S_IFREG | 0o600, owner=0, user=5)


@pytest.mark.parametrize("kind", [stat.S_IFDIR, stat.S_IFLNK, stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFCHR])
def test_only_a_regular_file_holds_a_key(kind: int) -> None:
    with pytest.raises(CryptographicError, match="no regular file"):
        private_keys.check_file("f", kind | 0o600, owner=5, user=5)

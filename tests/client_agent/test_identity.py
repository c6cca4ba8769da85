import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from client_agent import identity
from fgpr import signatures
from fgpr.errors import CryptographicError


def test_an_identity_is_the_same_after_loading(tmp_path: Path) -> None:
    home = tmp_path / "agent"
    key = identity.create(home)
    assert signatures.public_bytes(identity.load(home)) == signatures.public_bytes(key)
    path = home / "identity.pem"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert path.read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----\n")
    stored = load_pem_private_key(path.read_bytes(), password=None)
    assert isinstance(stored, Ed25519PrivateKey)
    assert stored.private_bytes_raw() == key.private_bytes_raw()


def test_a_second_identity_is_refused_and_the_first_stays(tmp_path: Path) -> None:
    key = identity.create(tmp_path / "agent")
    with pytest.raises(CryptographicError, match="exists already"):
        identity.create(tmp_path / "agent")
    assert signatures.public_bytes(identity.load(tmp_path / "agent")) == signatures.public_bytes(key)


def test_no_identity_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(CryptographicError, match=r"there is no key at .*identity\.pem: enrol first"):
        identity.load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"canary-5e1f", b"-----BEGIN PRIVATE KEY-----\ncanary-5e1f\n"])
def test_a_damaged_identity_is_named_and_not_quoted(tmp_path: Path, content: bytes) -> None:
    identity.create(tmp_path / "agent")
    path = tmp_path / "agent" / "identity.pem"
    path.write_bytes(content)
    with pytest.raises(CryptographicError, match=r"identity\.pem holds no unencrypted PKCS #8 PEM key") as caught:
        identity.load(tmp_path / "agent")
    assert "canary" not in str(caught.value)


def test_under_a_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passphrase, home = tmp_path / "passphrase", tmp_path / "agent"
    passphrase.write_text("correct horse battery\n")
    passphrase.chmod(0o600)
    monkeypatch.setenv(identity.VARIABLE, str(passphrase))
    key = identity.create(home)
    assert (home / "identity.pem").read_bytes().startswith(b"-----BEGIN ENCRYPTED PRIVATE KEY-----")
    assert signatures.public_bytes(identity.load(home)) == signatures.public_bytes(key)
    passphrase.write_text("another one of that length\n")
    with pytest.raises(CryptographicError, match=r"identity\.pem holds no"):
        identity.load(home)
    passphrase.chmod(0o640)
    with pytest.raises(CryptographicError, match=f"chmod 600 {passphrase}"):
        identity.load(home)
    monkeypatch.delenv(identity.VARIABLE)
    with pytest.raises(CryptographicError, match="name the file of its passphrase"):
        identity.load(home)

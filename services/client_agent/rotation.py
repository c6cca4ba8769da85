"""Replacing the identity key in a home, so that a crash at any moment leaves one way on: the same command again.

    HOME/next-identity.pem   the new key, before it is told to anybody
    HOME/rotation.json       the one request that was or will be sent, byte for byte
    HOME/identity.pem        the old key until the aggregator answered, then the new one

They are written in this order; the new key takes the old one's place in one step, and the request goes last. While it
is there, the agent takes part in nothing: neither key alone can be trusted to be the one that the aggregator knows.
"""

from collections.abc import Callable
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from client_agent import durable_file, identity, lock
from fgpr import signatures
from fgpr.errors import Conflict, EncodingError, LocalProtocolError, RemoteProtocolError, VerificationError
from fgpr.message import Signed
from fgpr.rotation import RotationReceipt, RotationRequest, SignedKeyChange
from fgpr.secagg.declared_weight import DeclaredWeight
from fgpr.secagg.messages import OpeningKey

NEXT_NAME = "next-identity.pem"
REQUEST_NAME = "rotation.json"

Send = Callable[[Ed25519PrivateKey, bytes], bytes]
"""Sends the request, signed with that key; gives the answer's bytes."""

NextOpeningKey = Callable[[Ed25519PrivateKey], Signed[OpeningKey] | None]
"""Makes and keeps the opening key that goes with the new identity key; None where the holder has none."""

Declare = Callable[[Ed25519PrivateKey], Signed[DeclaredWeight] | None]
"""Signs the declared weight with the new identity key; None where the holder declared none."""


def check_settled(home: Path) -> None:
    """Check that no replacement is under way.

    Raises:
        LocalProtocolError: one is.
    """
    if (home / REQUEST_NAME).exists():
        raise LocalProtocolError(f"the key in {home} is being replaced: run `rotate-key` again to finish that first")


def rotate(
    home: Path,
    federation: str | None,
    holder: str,
    send: Send,
    next_opening_key: NextOpeningKey = lambda _: None,
    declare: Declare = lambda _: None,
) -> Ed25519PrivateKey:
    """Replace the key in `home`, or finish what an earlier run began; the new key.

    Args:
        home: of a client, reader, operator or auditor; its caller holds no lock.
        federation: the holder's; None for operators and auditors.
        holder: its id or name.
        send: the way to the aggregator.
        next_opening_key: a client's opening key under the new identity key.
        declare: a client's declared weight under the new identity key.

    Raises:
        LocalProtocolError: an agent uses the home.
        RequestError: the aggregator refuses, or cannot be reached; where it refuses for good the old key stays.
        RemoteProtocolError: the receipt is for another key.
        CryptographicError: a key cannot be written or read.
    """
    with lock.held(home / lock.HOME_LOCK):
        request = _pending(home) or _prepare(home, federation, holder, next_opening_key, declare)
        change, present = request.signed.change, identity.load(home)
        if signatures.public_bytes(present) != change.new_key:
            if signatures.public_bytes(present) != change.old_key:
                raise LocalProtocolError(f"{home / REQUEST_NAME} is about another key than the one here: report this")
            _check_next(home, change.new_key)
            try:
                receipt = RotationReceipt.decode(send(present, request.encode()))
            except (Conflict, EncodingError, VerificationError):
                # Bytes that were taken are taken again: so these never were, and the old key is the one.
                _forget(home)
                raise
            if (receipt.holder, receipt.key_id) != (holder, signatures.key_id(change.new_key)):
                raise RemoteProtocolError("the receipt is for another key; report this, and keep the home as it is")
            (home / NEXT_NAME).replace(home / identity.FILE_NAME)
            durable_file.sync_folder(home)
        _forget(home)
        return identity.load(home)


def _pending(home: Path) -> RotationRequest | None:
    path = home / REQUEST_NAME
    if not path.exists():
        return None
    try:
        return RotationRequest.decode(path.read_bytes())
    except EncodingError as error:
        raise EncodingError(f"{path} is damaged ({error}): restore it from a backup") from error


def _prepare(
    home: Path, federation: str | None, holder: str, next_opening_key: NextOpeningKey, declare: Declare
) -> RotationRequest:
    path = home / NEXT_NAME
    # One that a crash left before the request was written was told to nobody, and serves as well.
    if not path.exists():
        identity.write(path, Ed25519PrivateKey.generate())
    new = identity.read(path)
    signed = SignedKeyChange.make(federation, holder, identity.load(home), new)
    request = RotationRequest(signed=signed, opening_key=next_opening_key(new), declared=declare(new))
    durable_file.write_once(home / REQUEST_NAME, request.encode())
    return request


def _check_next(home: Path, key: bytes) -> None:
    path = home / NEXT_NAME
    if signatures.public_bytes(identity.read(path)) != key:
        raise LocalProtocolError(
            f"{path} is not the key that {home / REQUEST_NAME} is about: restore both from a backup"
        )


def _forget(home: Path) -> None:
    # The request first: without the new key beside it, it must never be sent again.
    durable_file.erase(home / REQUEST_NAME)
    durable_file.erase(home / NEXT_NAME)

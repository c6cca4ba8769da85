"""An audit log as an auditor reads it: from its aggregator, or from a bundle on disk."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from client_agent import agent_toml, authorities, durable_file, membership
from client_agent.api import Api
from client_agent.federation_client import FederationClient
from client_agent.trail import FILE_NAME as KEPT
from fgpr import canonical, merkle
from fgpr.auditlog import note
from fgpr.auditlog.bundle import Bundle, check_key, fingerprint, open_position
from fgpr.errors import (
    DataError,
    EncodingError,
    FgprError,
    LocalProtocolError,
    RemoteProtocolError,
    VerificationError,
)
from fgpr.rest import CheckpointView
from fgpr.secagg.messages import LogPosition

PAGE = 400
"""Most leaves that are asked for at once."""

NOBODY = "unnamed"
"""Stands for the federation where only the log is read, which belongs to none."""


@dataclass(frozen=True)
class Held:
    """A checkpoint that somebody kept.

    Attributes:
        where: it is kept, for people.
        position: what it says.
        note: signed; None where only the position was kept.
    """

    where: str
    position: LogPosition
    note: str | None = None


class LogServer:
    """The audit log of an aggregator, read from it.

    Args:
        client: asks the aggregator.
        service_key: the key that is known from elsewhere, 32 bytes; None where none is.
    """

    def __init__(self, client: FederationClient, service_key: bytes | None) -> None:
        self._client = client
        self._known = service_key

    def newest(self) -> tuple[bytes, str, LogPosition]:
        """The service key, and the newest checkpoint as a note and as a position.

        Raises:
            VerificationError: the checkpoint is not signed by the known key, or by the one that names the log.
        """
        shown = self._client.shown_checkpoint()
        key = shown.service_key if self._known is None else self._known
        check_key(shown.note, key)
        return key, shown.note, open_position(shown.note, key)

    def leaves(self, start: int, end: int) -> Iterator[bytes]:
        """Leaves `start` up to, not including, `end`.

        Raises:
            RemoteProtocolError: the aggregator gives other leaves than were asked for.
        """
        position = start
        while position < end:
            page = self._client.entries(position, min(end, position + PAGE))
            if page.start != position or page.end != position + len(page.leaves) or not position < page.end <= end:
                raise RemoteProtocolError(f"leaves {page.start} to {page.end} of the log are not those asked for")
            yield from page.leaves
            position = page.end

    def check_continues(self, old: LogPosition, new: LogPosition) -> None:
        """Check that the log of `new` begins with that of `old`, by the aggregator's proof.

        Raises:
            VerificationError: it does not: the log went back, or there are two.
        """
        if old.size > new.size:
            raise VerificationError(
                f"the log went back: it was held with {fingerprint(old)}, and is shown with {fingerprint(new)}"
            )
        proof = self._client.consistency(old.size, new.size) if 0 < old.size < new.size else ()
        try:
            merkle.verify_consistency(old.size, old.root, new.size, new.root, proof)
        except VerificationError as error:
            raise VerificationError(
                f"the log is another one: it was held with {fingerprint(old)}, and is shown with {fingerprint(new)}, "
                f"which does not continue it ({error})"
            ) from error

    def whole(self) -> Bundle:
        """The whole log up to the newest checkpoint; nothing is verified but that checkpoint's signature."""
        key, signed, position = self.newest()
        return Bundle(key, (signed,), tuple(self.leaves(0, position.size)))


@contextmanager
def connected(address: str | None, home: Path, service_key: bytes | None) -> Iterator[LogServer]:
    """The log of an aggregator.

    Args:
        address: of the aggregator; None for that of the agent's home.
        home: of an enrolled party, whose key also opens a log that is not public; its authority and proxy always hold.
        service_key: known from elsewhere, 32 bytes, or None.

    Raises:
        LocalProtocolError: no address was given, and the home is enrolled nowhere.
        EncodingError: its agent.toml cannot be used.
    """
    if address is None:
        known = enrolled(home)
        with membership.connect(home) as api:
            yield LogServer(FederationClient(api, known.federation), known.service_key)
        return
    # Nobody has this key: a log that is not public stays closed for it.
    key = Ed25519PrivateKey.from_private_bytes(secrets.token_bytes(32))
    tls, proxy = authorities.load(home), agent_toml.load(home).connection.proxy
    with Api(address, NOBODY, key, service_key=service_key, tls=tls, proxy=proxy) as api:
        yield LogServer(FederationClient(api, NOBODY), service_key)


def enrolled(home: Path) -> membership.Membership:
    """The membership of a home, whose aggregator is asked where no log is named.

    Raises:
        LocalProtocolError: it is enrolled nowhere.
    """
    try:
        return membership.load(home)
    except LocalProtocolError as error:
        raise LocalProtocolError(
            f"no log is named, and {home} is enrolled nowhere: "
            "give the aggregator's address or a bundle file with --log"
        ) from error


def is_address(source: str) -> bool:
    """Whether this names an aggregator, and no file."""
    return source.startswith(("http://", "https://"))


def read(path: Path) -> Bundle:
    """The bundle in a file.

    Raises:
        DataError: there is none.
        EncodingError: it is none.
    """
    try:
        with path.open("rb") as lines:
            return Bundle.read(lines)
    except OSError as error:
        raise DataError(f"cannot read the bundle {path}: {error.strerror or error}") from error


def write(path: Path, bundle: Bundle) -> None:
    """Write a bundle, whole or not at all."""
    durable_file.replace(path, b"".join(bundle.lines()))


def read_checkpoint(path: Path) -> str:
    """The note in a file: by itself, as `/v1/log/checkpoint` answers it, or the newest one of a bundle.

    Raises:
        DataError: there is none.
        VerificationError: a bundle holds one that its own service key did not sign.
    """
    try:
        raw = path.read_bytes()
        text = _shown(raw) if raw.startswith(b"{") else raw.decode("utf-8")
        note.lines(text)
        return text
    except (OSError, UnicodeDecodeError, EncodingError) as error:
        raise DataError(f"{path} holds no checkpoint: {error}") from error


def _shown(raw: bytes) -> str:
    lines = raw.splitlines()
    return Bundle.read(lines).newest if len(lines) > 1 else CheckpointView.decode(raw).note


def kept_by_agent(home: Path) -> Held | None:
    """The checkpoint that the agent of a home keeps; None where there is none."""
    path = home / KEPT
    try:
        return Held(str(path), LogPosition.decode(path.read_bytes()))
    except FileNotFoundError:
        return None
    except FgprError as error:
        raise DataError(f"{path} is damaged: {error}") from error


def parse_key(text: str) -> bytes:
    """A service key in base64.

    Raises:
        EncodingError: it is none.
    """
    key = canonical.from_text(text)
    if len(key) != 32:
        raise EncodingError(f"a service key has 32 bytes, not {len(key)}")
    return key

"""The roster: who is admitted to a federation and who may serve on its committees.

One signed document names every client; a new version with a fresh nonce replaces it. The nonce is drawn after the
membership is fixed, so that nobody can choose members to steer the draws (docs/protocol.md, Parties and keys). It says
up to where in the audit log it is true: who was revoked later stands in the leaves after that.
"""

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from fgpr.errors import VerificationError
from fgpr.message import Bytes, Count, Message, Name, PublicKey
from fgpr.secagg.messages import LogPosition

NONCE_BYTES = 32


class RosterEntry(Message):
    """One client of a roster."""

    client: Name
    identity_key: PublicKey
    may_serve: bool
    revoked: bool


class Roster(Message):
    """Everybody admitted, in order of client id; signed by the roster key.

    Attributes:
        checkpoint: the last one of the audit log before the roster's own leaf; the flags are true as of there.
    """

    label: ClassVar[str] = "fgpr-v1/roster"

    federation: Name
    version: Annotated[Count, Field(ge=1)]
    clients: tuple[RosterEntry, ...]
    nonce: Annotated[Bytes, Field(min_length=NONCE_BYTES, max_length=NONCE_BYTES)]
    checkpoint: LogPosition

    @model_validator(mode="after")
    def _ordered(self) -> "Roster":
        names = [entry.client for entry in self.clients]
        if names != sorted(set(names)):
            raise ValueError("clients must stand in order of their ids, each once")
        keys = [entry.identity_key for entry in self.clients]
        if len(set(keys)) != len(keys):
            raise ValueError("two clients share an identity key")
        return self

    def active(self) -> tuple[str, ...]:
        """Clients that are not revoked, in order."""
        return tuple(entry.client for entry in self.clients if not entry.revoked)

    def servants(self) -> tuple[str, ...]:
        """Clients that may hold a seat, in order."""
        return tuple(entry.client for entry in self.clients if entry.may_serve and not entry.revoked)

    def identity_key(self, client: str) -> bytes:
        """The public identity key of an admitted client, 32 bytes.

        Raises:
            VerificationError: the client is not in this roster, or revoked in it.
        """
        for entry in self.clients:
            if entry.client == client:
                if entry.revoked:
                    raise VerificationError(f"client {client} is revoked in roster version {self.version}")
                return entry.identity_key
        raise VerificationError(f"client {client} is not in roster version {self.version}")

"""The roster: who is admitted to a federation and who may serve on its committees.

One signed document names every client; a new version with a fresh nonce replaces it. The nonce is drawn after the
membership is fixed, so that nobody can choose members to steer the draws (docs/protocol.md, Parties and keys). It says
up to where in the audit log it is true: who was revoked later stands in the leaves after that.
"""

from bisect import bisect_left
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from fgpr.errors import CommitteeError, VerificationError
from fgpr.message import Bytes, Count, Message, Name, PublicKey, Signed
from fgpr.secagg.declared_weight import DeclaredWeight
from fgpr.secagg.messages import LogPosition
from fgpr.signatures import key_id

NONCE_BYTES = 32


class RosterEntry(Message):
    """One client of a roster.

    Attributes:
        declared: its declared weight, where the federation draws by weight.
    """

    client: Name
    identity_key: PublicKey
    may_serve: bool
    revoked: bool
    declared: Signed[DeclaredWeight] | None

    def told(self) -> str:
        """Key and declared weight, for people."""
        weight = "" if self.declared is None else f", weight {self.declared.message.weight}"
        return f"{key_id(self.identity_key)}{weight}"


class RosterDraft(Message):
    """Everybody admitted, in order of client id, before the nonce is drawn: that is left to whoever signs.

    Attributes:
        checkpoint: the last one of the audit log when the membership was read; the flags are true as of there.
    """

    federation: Name
    version: Annotated[Count, Field(ge=1)]
    clients: tuple[RosterEntry, ...]
    checkpoint: LogPosition

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        names = [entry.client for entry in self.clients]
        if names != sorted(set(names)):
            raise ValueError("clients must stand in order of their ids, each once")
        keys = [entry.identity_key for entry in self.clients]
        if len(set(keys)) != len(keys):
            raise ValueError("two clients share an identity key")
        return self

    def with_nonce(self, nonce: bytes) -> "Roster":
        """The roster to sign, with a nonce of 32 fresh random bytes."""
        return Roster(
            federation=self.federation,
            version=self.version,
            clients=self.clients,
            checkpoint=self.checkpoint,
            nonce=nonce,
        )

    def active(self) -> tuple[str, ...]:
        """Clients that are not revoked, in order."""
        return tuple(entry.client for entry in self.clients if not entry.revoked)

    def servants(self) -> tuple[str, ...]:
        """Clients that may hold a seat, in order."""
        return tuple(entry.client for entry in self.clients if entry.may_serve and not entry.revoked)

    def weights(self) -> dict[str, int]:
        """The declared weight of each client that is not revoked, in order.

        Raises:
            CommitteeError: one of them declared none.
        """
        silent = [entry.client for entry in self.clients if entry.declared is None and not entry.revoked]
        if silent:
            raise CommitteeError(
                f"{', '.join(silent[:3])} declared no weight in roster version {self.version}, by which clients are "
                "to be drawn"
            )
        return {
            entry.client: entry.declared.message.weight
            for entry in self.clients
            if entry.declared is not None and not entry.revoked
        }

    def verify_declared(self) -> None:
        """Check that each declared weight is its client's own.

        Raises:
            VerificationError: one is of another client or federation, or not signed by the client.
        """
        for entry in self.clients:
            if entry.declared is None:
                continue
            declared = entry.declared.message
            if (declared.federation, declared.client) != (self.federation, entry.client):
                raise VerificationError(
                    f"the weight beside {entry.client} is {declared.client}'s of {declared.federation}"
                )
            entry.declared.verify(entry.identity_key)

    def identity_key(self, client: str) -> bytes:
        """The public identity key of an admitted client, 32 bytes.

        Raises:
            VerificationError: the client is not in this roster, or revoked in it.
        """
        entry = self.entry(client)
        if entry is None:
            raise VerificationError(f"client {client} is not in roster version {self.version}")
        if entry.revoked:
            raise VerificationError(f"client {client} is revoked in roster version {self.version}")
        return entry.identity_key

    def entry(self, client: str) -> RosterEntry | None:
        """The line of an admitted client, revoked or not; None where there is none."""
        # They stand in order: a plan of a thousand clients asks 140 times.
        place = bisect_left(self.clients, client, key=lambda entry: entry.client)
        found = self.clients[place] if place < len(self.clients) else None
        return found if found is not None and found.client == client else None


class Roster(RosterDraft):
    """A roster version; signed by the roster key.

    Attributes:
        nonce: drawn once the membership was fixed; seats and invited clients are drawn by it.
    """

    label: ClassVar[str] = "fgpr-v1/roster"

    nonce: Annotated[Bytes, Field(min_length=NONCE_BYTES, max_length=NONCE_BYTES)]


def changes(before: RosterDraft | None, after: RosterDraft) -> tuple[str, ...]:
    """What a signer is asked to confirm: one line for each client that is not as it was; in order of client id."""
    old = {} if before is None else {entry.client: entry for entry in before.clients}
    new = {entry.client: entry for entry in after.clients}
    lines = []
    for client in sorted({*old, *new}):
        was, becomes = old.get(client), new.get(client)
        if becomes is None:
            lines.append(f"{client} is left out")
        elif was is None:
            lines.append(f"{client} is admitted with key {becomes.told()}")
        elif was.identity_key != becomes.identity_key:
            lines.append(f"{client} has another key: {becomes.told()}")
        elif was.declared != becomes.declared:
            lines.append(f"{client} has another declared weight: key {becomes.told()}")
        elif was.revoked != becomes.revoked:
            lines.append(f"{client} is revoked" if becomes.revoked else f"{client} is no longer revoked")
        elif was.may_serve != becomes.may_serve:
            lines.append(f"{client} may {'' if becomes.may_serve else 'not '}serve")
    return tuple(lines)

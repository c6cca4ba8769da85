"""Tickets: one-time invitations, handed to a party outside this system.

A ticket carries everything that its holder must trust: where the aggregator is and the two public keys. Its secret is
known to the holder alone; the aggregator keeps only the hash.
"""

import base64
import binascii
import hashlib
from typing import Annotated, Literal, Self

from pydantic import Field

from fgpr.errors import EncodingError
from fgpr.message import Bytes, Count, Message, Name, PublicKey, Timestamp
from fgpr.secagg.declared_weight import LARGEST
from fgpr.secagg.suites import SuiteName

PREFIX = "fgpr1."
SECRET_BYTES = 32

Role = Literal["client", "reader"]

Epoch = Annotated[str, Field(pattern=r"\A(?:[A-Za-z0-9_-]{22})?\z")]
"""Empty where it is not known yet: the aggregator's refusal then tells it."""


class Ticket(Message):
    """An invitation of one party to one federation.

    Attributes:
        origin: the aggregator's public address, as in https://fgpr.example.org/base.
        federation: the federation.
        client: the party's id; it is the client's id from then on.
        role: "client", or "reader": fetches priors, takes part in no round.
        secret: 256 random bits.
        expires: until when it can be taken up.
        service_key: signs plans, cohorts, priors and checkpoints, 32 bytes.
        roster_key: signs rosters, 32 bytes.
        suite: of the opening keys in this federation.
        weight_cap: the most rows that a client may declare, where the federation draws clients by the rows that they
            declare; None where it asks for no number.
        epoch: of the aggregator's database; the nonces of requests begin with it.
        witnesses: members that have to cosign a log which holds a prior before its holder takes it for published.
    """

    origin: Annotated[str, Field(pattern=r"\Ahttps?://[^\s?#]+\z", max_length=2048)]
    federation: Name
    client: Name
    role: Role
    secret: Annotated[Bytes, Field(min_length=SECRET_BYTES, max_length=SECRET_BYTES, repr=False)]
    expires: Timestamp
    service_key: PublicKey
    roster_key: PublicKey
    suite: SuiteName
    weight_cap: Annotated[Count, Field(ge=1, le=LARGEST)] | None
    epoch: Epoch = ""
    witnesses: Annotated[Count, Field(exclude_if=lambda count: count == 0)] = 0

    def to_text(self) -> str:
        """The one line that is handed over: `fgpr1.` and base64url of the canonical JSON."""
        return PREFIX + base64.urlsafe_b64encode(self.encode()).rstrip(b"=").decode("ascii")

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The inverse of `to_text`; line breaks and spaces that a mail put between do not count.

        Raises:
            EncodingError: not a ticket; says what is wrong, without its secret.
        """
        text = "".join(text.split())
        if not text.startswith(PREFIX):
            raise EncodingError(f"a ticket begins with {PREFIX!r}; was it copied whole?")
        encoded = text.removeprefix(PREFIX)
        try:
            raw = base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError) as error:
            raise EncodingError("the ticket is not base64url after its prefix; was it copied whole?") from error
        try:
            return cls.decode(raw)
        except EncodingError as error:
            raise EncodingError(f"{error}; was it copied whole?") from error


def secret_hash(secret: bytes) -> bytes:
    """What the aggregator keeps of a ticket's secret, 32 bytes."""
    return hashlib.sha256(b"fgpr-v1/ticket\0" + secret).digest()

"""Operators and auditors: people with keys of their own who belong to an aggregator and to no federation.

They are admitted on the aggregator's own machine only (`fgpr-aggregator staff`), by a one-time ticket: nobody can make
operators over the network.
"""

import base64
import binascii
from typing import Annotated, Literal, Self

from pydantic import Field

from fgpr.errors import EncodingError
from fgpr.message import Bytes, Message, Name, PublicKey, Timestamp
from fgpr.ticket import SECRET_BYTES, Epoch

PREFIX = "fgprs1."

StaffRole = Literal["operator", "auditor"]
"""An operator acts under /v1/operator; an auditor reads there, and the audit log where that is not public."""

Secret = Annotated[Bytes, Field(min_length=SECRET_BYTES, max_length=SECRET_BYTES, repr=False)]


class StaffTicket(Message):
    """An invitation to become operator or auditor of one aggregator.

    Attributes:
        origin: the aggregator's public address.
        name: the operator's or auditor's name from then on.
        role: what it may do.
        secret: 256 random bits.
        expires: until when it can be taken up.
        service_key: signs answers and checkpoints, 32 bytes.
        epoch: of the aggregator's database; the nonces of requests begin with it.
    """

    origin: Annotated[str, Field(pattern=r"\Ahttps?://[^\s?#]+\z", max_length=2048)]
    name: Name
    role: StaffRole
    secret: Secret
    expires: Timestamp
    service_key: PublicKey
    epoch: Epoch = ""

    def to_text(self) -> str:
        """The one line that is handed over: `fgprs1.` and base64url of the canonical JSON."""
        return PREFIX + base64.urlsafe_b64encode(self.encode()).rstrip(b"=").decode("ascii")

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The inverse of `to_text`.

        Raises:
            EncodingError: not such a ticket; says what is wrong, without its secret.
        """
        text = text.strip()
        if not text.startswith(PREFIX):
            raise EncodingError(f"a ticket of an operator or auditor begins with {PREFIX!r}; was it copied whole?")
        encoded = text.removeprefix(PREFIX)
        try:
            raw = base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError) as error:
            raise EncodingError("the ticket is not base64url after its prefix; was it copied whole?") from error
        return cls.decode(raw)


class StaffEnrolment(Message):
    """An operator or auditor takes up its ticket; the HTTP request is signed with the key that it enrols."""

    name: Name
    secret: Secret
    identity_key: PublicKey


class StaffReceipt(Message):
    """The answer to the enrolment of an operator or auditor."""

    name: Name
    role: StaffRole
    key_id: str

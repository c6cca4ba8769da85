"""Bodies of the operators' routes and of replaced keys, as OpenAPI shows them; see `aggregator.routes.examples`."""

from fgpr.message import Message, Signed
from fgpr.operator_rest import (
    ClientLine,
    ClientList,
    FederationLine,
    FederationList,
    FederationRequest,
    IssuedTicket,
    OpenedRound,
    StateRequest,
    TicketRequest,
)
from fgpr.rotation import KeyChange, RotationReceipt, RotationRequest, SignedKeyChange
from fgpr.secagg.messages import OpeningKey
from fgpr.signatures import SIGNATURE_BYTES
from fgpr.staff import StaffEnrolment, StaffReceipt

_KEY = bytes(32)
_SIGNATURE = bytes(SIGNATURE_BYTES)
_KEY_ID = "A" * 43

_line = FederationLine(name="turbofan", state="open", clients=5, round=3, stage="contributing", prior_version=2)

EXAMPLES: tuple[Message, ...] = (
    RotationRequest(
        signed=SignedKeyChange(
            change=KeyChange(federation="turbofan", holder="engine-1", old_key=_KEY, new_key=_KEY),
            by_old=_SIGNATURE,
            by_new=_SIGNATURE,
        ),
        opening_key=Signed[OpeningKey](
            message=OpeningKey(federation="turbofan", client="engine-1", serial=4, suite="x25519", key=_KEY),
            signature=_SIGNATURE,
        ),
        declared=None,
    ),
    RotationReceipt(holder="engine-1", key_id=_KEY_ID),
    StaffEnrolment(name="olga", secret=_KEY, identity_key=_KEY),
    StaffReceipt(name="olga", role="operator", key_id=_KEY_ID),
    FederationRequest(settings={"name": "turbofan", "model": {}, "aggregation": {}, "rounds": {}}),
    _line,
    FederationList(federations=(_line,)),
    TicketRequest(client="engine-1"),
    IssuedTicket(ticket="fgpr1.eyJjbGllbnQiOi..."),
    ClientList(
        clients=(
            ClientLine(
                client="engine-1",
                role="client",
                key_id=_KEY_ID,
                enrolled_at="2031-03-09T12:00:00.000Z",
                revoked_at=None,
            ),
        )
    ),
    OpenedRound(round=3),
    StateRequest(state="paused", reason="new sensors next week"),
)

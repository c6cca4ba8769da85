"""An operator or auditor that talks to a real aggregator."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator.service import staff
from client_agent.api import Api
from fgpr import signatures
from fgpr.operator_rest import ClientList, FederationLine, FederationList, StateRequest, TicketRequest
from fgpr.rotation import RotationReceipt, RotationRequest, SignedKeyChange
from fgpr.staff import StaffEnrolment, StaffReceipt, StaffRole, StaffTicket
from support.aggregator import Aggregator
from support.client import NAME
from support.party import Recorded


class Staff:
    """One person with a ticket; nothing is sent before `enrol`."""

    def __init__(
        self,
        aggregator: Aggregator,
        name: str,
        role: StaffRole,
        ticket: StaffTicket | None = None,
        transport: Recorded | None = None,
    ) -> None:
        self.name, self.aggregator = name, aggregator
        self.ticket = ticket or staff.invite(aggregator.context, name, role)
        self.transport = transport or Recorded()
        aggregator.transports.append(self.transport)
        self.sign_with(Ed25519PrivateKey.generate())

    def sign_with(self, key: Ed25519PrivateKey) -> None:
        """Use this key from now on."""
        self.key = key
        ticket, clock = self.ticket, self.aggregator.clock
        self.api = Api(ticket.origin, NAME, key, transport=self.transport, clock=clock, attempts=1, epoch=ticket.epoch)

    @property
    def status(self) -> int:
        """Of the last answer."""
        return self.transport.answers[-1][0]

    def enrolment(self) -> StaffEnrolment:
        """What takes the ticket up."""
        key = signatures.public_bytes(self.key)
        return StaffEnrolment(name=self.name, secret=self.ticket.secret, identity_key=key)

    def enrol(self) -> StaffReceipt:
        """Take up the ticket."""
        return StaffReceipt.decode(self.api.post("/v1/operator/enrolments", self.enrolment().encode()))

    def federations(self) -> FederationList:
        """Every federation."""
        return FederationList.decode(self.api.get("/v1/operator/federations"))

    def clients(self) -> ClientList:
        """The parties of the one federation."""
        return ClientList.decode(self.api.get(f"/v1/operator/federations/{NAME}/clients"))

    def issue(self, party: str, days: int = 7) -> bytes:
        """A ticket for a party."""
        body = TicketRequest(client=party, days=days).encode()
        return self.api.post(f"/v1/operator/federations/{NAME}/tickets", body)

    def revoke(self, party: str) -> bytes:
        """Revoke a party."""
        return self.api.delete(f"/v1/operator/federations/{NAME}/clients/{party}")

    def set_state(self, state: str, reason: str = "as agreed") -> FederationLine:
        """Change the federation's state."""
        body = StateRequest.from_json({"state": state, "reason": reason}).encode()
        return FederationLine.decode(self.api.put(f"/v1/operator/federations/{NAME}/state", body))

    def rotation(self, new: Ed25519PrivateKey) -> bytes:
        """The body that replaces the present key."""
        signed = SignedKeyChange.make(None, self.name, self.key, new)
        return RotationRequest(signed=signed, opening_key=None, declared=None).encode()

    def send_rotation(self, body: bytes) -> RotationReceipt:
        """Replace the key."""
        return RotationReceipt.decode(self.api.put(f"/v1/operator/staff/{self.name}/key", body))

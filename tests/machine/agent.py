"""Parties of the machine: the agent's HTTP client and checks, with what an agent has on its disk."""

from collections.abc import Callable

import httpx
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from client_agent.api import Api
from fgpr import signatures
from fgpr.message import Signed
from fgpr.operator_rest import IssuedTicket, StateRequest, TicketRequest
from fgpr.rest import Receipt
from fgpr.secagg.checked_plan import CheckedPlan
from fgpr.secagg.messages import Opening
from fgpr.staff import StaffEnrolment, StaffTicket
from fgpr.ticket import Ticket
from machine.wire import Wire
from support.aggregator import Clock
from support.client import NAME
from support.party import Party, repacked

OPERATOR = f"/v1/operator/federations/{NAME}"


class Agent(Party):
    """A client of the federation.

    Attributes:
        bodies: the contribution that it wrote to each round.
        opened: the opening that it wrote of each round.
        receipts: every one that it got for a contribution or an opening.
        is_enrolled: whether it has its receipt.
        replacing: its next key and the request that brings it, until that is acknowledged.
        keys: ids of its own keys, the replaced ones too.
    """

    def __init__(self, ticket: Ticket, wire: Wire, clock: Clock, random_bytes: Callable[[int], bytes]) -> None:
        self.epoch = ticket.epoch
        super().__init__(ticket, wire, clock, random_bytes)
        self.bodies: dict[int, bytes] = {}
        self.opened_bodies: dict[int, bytes] = {}
        self.receipts: list[Receipt] = []
        self._checked: CheckedPlan | None = None
        self.is_enrolled = False
        self.replacing: tuple[Ed25519PrivateKey, bytes] | None = None
        self.keys = {self.key_id}

    @property
    def key_id(self) -> str:
        """Of its present key, as far as it knows."""
        return signatures.key_id(self.client.public_key())

    def api_as(self, key: Ed25519PrivateKey, clock: Clock) -> Api:  # type: ignore[override] # the machine's clock
        """The way to the aggregator; every answer has to be signed for its request."""
        ticket = self.ticket
        return Api(
            ticket.origin,
            ticket.federation,
            key,
            transport=self.transport,
            clock=clock,
            attempts=1,
            timeout=httpx.Timeout(None),
            epoch=self.epoch,
            on_epoch=self._learn,
            service_key=ticket.service_key,
        )

    def _learn(self, epoch: str) -> None:
        self.epoch = epoch

    def check(self) -> CheckedPlan:
        """Check the newest plan; what was checked a moment ago is not asked for again."""
        checked, self._checked = self._checked or super().check(), None
        return checked

    def write_contribution(self, far: bool) -> tuple[int, bytes]:
        """Check the newest plan and write the one body for it: round and body.

        Args:
            far: an update at the bounds, which honest clients may send, and which no step takes.

        Raises:
            FgprError: the agent refuses the plan.
        """
        checked = self.check()
        number = checked.plan.round
        if number not in self.bodies:
            prior = self.prior(checked.plan.prior_version).prior.message
            values = prior.vector() + 0.001 * (1 + len(self.bodies))
            if far:
                values = np.array(checked.codec.upper)
            self._checked = checked
            self.bodies[number] = self.contribution(values)
        return number, self.bodies[number]

    def write_opening(self, number: int, *, empty: bool) -> bytes:
        """Check the cohort and write the one answer to it.

        Raises:
            FgprError: the agent refuses the cohort, or the aggregator does not give it.
        """
        if number not in self.opened_bodies:
            self.opened_bodies[number] = self.opening_of_nothing(number) if empty else self.opening()
        return self.opened_bodies[number]

    def another_contribution(self, body: bytes) -> bytes:
        """A second body to the same round, rightly signed: what no honest client sends."""
        words = bytes([1 + self.random_bytes(1)[0] % 16]) * 8 * len(self.encoded[-1])
        return repacked(body, self.client.identity_key, masked=words)

    def another_opening(self, body: bytes) -> bytes:
        """A second opening of the same cohort, rightly signed."""
        opening = Signed[Opening].decode(body).message
        other = opening.model_copy(update={"next_key": self.client.new_key()})
        return Signed[Opening].make(self.client.identity_key, other).encode()

    def write_rotation(self) -> bytes:
        """The request that replaces its key, on its disk before it is sent."""
        if self.replacing is None:
            new = Ed25519PrivateKey.from_private_bytes(self.random_bytes(32))
            self.replacing = new, self.rotation(new)
            self.keys.add(signatures.key_id(signatures.public_bytes(new)))
        return self.replacing[1]

    def keys_of_rotation(self) -> set[str]:
        """Ids of the one it signs with and of the new one; the aggregator has to know one of the two."""
        assert self.replacing is not None
        return {self.key_id, signatures.key_id(signatures.public_bytes(self.replacing[0]))}

    def rotated(self) -> None:
        """The new key is acknowledged."""
        assert self.replacing is not None
        self.use_key(self.replacing[0])
        self.replacing = None


class Operator:
    """One person with an operator's key."""

    def __init__(self, ticket: StaffTicket, wire: Wire, clock: Clock, key: Ed25519PrivateKey) -> None:
        self.ticket, self.key = ticket, key
        self.api = Api(
            ticket.origin,
            NAME,
            key,
            transport=wire,
            clock=clock,
            attempts=1,
            epoch=ticket.epoch,
            service_key=ticket.service_key,
        )

    def enrol(self) -> None:
        """Take up the ticket."""
        public = signatures.public_bytes(self.key)
        request = StaffEnrolment(name=self.ticket.name, secret=self.ticket.secret, identity_key=public)
        self.api.post("/v1/operator/enrolments", request.encode())

    def issue(self, client: str) -> Ticket:
        """A ticket."""
        request = TicketRequest(client=client, days=7)
        return Ticket.from_text(IssuedTicket.decode(self.api.post(f"{OPERATOR}/tickets", request.encode())).ticket)

    def revoke(self, client: str) -> None:
        """Revoke a client."""
        self.api.delete(f"{OPERATOR}/clients/{client}")

    def open_round(self) -> None:
        """Open a round now."""
        self.api.post(f"{OPERATOR}/rounds", b"")

    def set_state(self, state: str) -> None:
        """Pause or resume."""
        body = StateRequest.from_json({"state": state, "reason": "as agreed"}).encode()
        self.api.put(f"{OPERATOR}/state", body)

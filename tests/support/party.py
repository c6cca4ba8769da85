"""A party that talks to a real aggregator: the library's pure functions behind the agent's HTTP client."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

import httpx
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from client_agent.api import Api
from fgpr import merkle, signatures
from fgpr.auditlog import checkpoint, entries
from fgpr.auditlog.checkpoint import Checkpoint
from fgpr.errors import CohortRefused, FgprError
from fgpr.message import Signed
from fgpr.rest import (
    CheckpointView,
    EnrolmentReceipt,
    EnrolmentRequest,
    LogEntries,
    LogProof,
    PriorView,
    Receipt,
    RoundView,
)
from fgpr.rotation import RotationReceipt, RotationRequest, SignedKeyChange
from fgpr.secagg.checked_plan import Anchors, CheckedPlan, LogView, NamedPrior, check_plan, recall
from fgpr.secagg.complaint import complain
from fgpr.secagg.contributor import boxes_root, contribute, masked_digest
from fgpr.secagg.declared_weight import DeclaredWeight
from fgpr.secagg.log_span import LogSpan, span_start
from fgpr.secagg.member import open_cohort
from fgpr.secagg.messages import Cohort, CohortView, Contribution, Header, LogPosition, OpeningKey, Plan
from fgpr.secagg.roster import Roster
from fgpr.ticket import Ticket
from support.client import SECONDS, Client, CohortOpened, ContributionWritten, PlanChecked


class Recorded(httpx.BaseTransport):
    """The way to a server on this machine, with what went through it."""

    def __init__(self) -> None:
        # Plain HTTP: loading the certificates of the world takes longer than a round.
        self.inner = httpx.HTTPTransport(verify=False)
        self.requests: list[httpx.Request] = []
        self.answers: list[tuple[int, bytes]] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        response = self.inner.handle_request(request)
        content = response.read()
        self.answers.append((response.status_code, content))
        return httpx.Response(response.status_code, headers=response.headers, content=content)

    def again(self, request: httpx.Request) -> httpx.Response:
        """Send a request as it is, signature and all."""
        response = self.inner.handle_request(request)
        response.read()
        return response

    def close(self) -> None:
        self.inner.close()


class Party:
    """A client or reader of the federation."""

    def __init__(
        self,
        ticket: Ticket,
        transport: Recorded,
        clock: Callable[[], datetime],
        random_bytes: Callable[[int], bytes],
        rows: int = 10,
    ) -> None:
        self.ticket, self.transport, self.name = ticket, transport, ticket.client
        self.random_bytes = random_bytes
        self.client = Client(
            self.name, Ed25519PrivateKey.from_private_bytes(random_bytes(32)), random_bytes, suite=ticket.suite
        )
        self.anchors = Anchors(ticket.federation, ticket.service_key, ticket.roster_key)
        self.api = self.api_as(self.client.identity_key, clock)
        self._clock = clock
        # Rounds are played in one federation only; others have members all the same.
        key = self.client.new_key().message.model_copy(update={"federation": ticket.federation})
        self.first_key = Signed[OpeningKey].make(self.client.identity_key, key)
        self.rows = rows
        self.encoded: list[np.ndarray] = []

    def api_as(self, key: Ed25519PrivateKey, clock: Callable[[], datetime]) -> Api:
        """The way to the aggregator with another key."""
        ticket = self.ticket
        return Api(
            ticket.origin, ticket.federation, key, transport=self.transport, clock=clock, attempts=1, epoch=ticket.epoch
        )

    # enrolment

    def enrolment(self) -> EnrolmentRequest:
        """The request that takes the ticket up."""
        return EnrolmentRequest(
            federation=self.ticket.federation,
            client=self.name,
            secret=self.ticket.secret,
            identity_key=self.client.public_key(),
            opening_key=self.first_key if self.ticket.role == "client" else None,
            declared=None if self.ticket.weight_cap is None else self.declared(self.rows),
        )

    def declared(self, weight: int, key: Ed25519PrivateKey | None = None, **changes: Any) -> Signed[DeclaredWeight]:
        """A declared weight under its own key, or under another one."""
        named = {"federation": self.ticket.federation, "client": self.name} | changes
        return Signed[DeclaredWeight].make(key or self.client.identity_key, DeclaredWeight(weight=weight, **named))

    def enrol(self) -> EnrolmentReceipt:
        """Take up the ticket."""
        return EnrolmentReceipt.decode(self.api.post("/v1/enrolments", self.enrolment().encode()))

    # another key

    def rotation(self, new: Ed25519PrivateKey, **changes: Any) -> bytes:
        """The body that replaces the present identity key; `changes` are made to its next opening key."""
        signed = SignedKeyChange.make(self.ticket.federation, self.name, self.client.identity_key, new)
        if self.ticket.role == "reader":
            return RotationRequest(signed=signed, opening_key=None, declared=None).encode()
        key = self.client.new_key().message.model_copy(update={"federation": self.ticket.federation} | changes)
        declared = None if self.ticket.weight_cap is None else self.declared(self.rows, key=new)
        return RotationRequest(signed=signed, opening_key=Signed[OpeningKey].make(new, key), declared=declared).encode()

    def send_rotation(self, body: bytes) -> RotationReceipt:
        """Replace the key."""
        return RotationReceipt.decode(self.api.put(f"clients/{self.name}/key", body))

    def use_key(self, new: Ed25519PrivateKey) -> None:
        """Sign with another key from now on."""
        self.client.identity_key = new
        self.api = self.api_as(new, self._clock)

    def rotate(self) -> RotationReceipt:
        """Replace the key and use the new one."""
        new = Ed25519PrivateKey.from_private_bytes(self.random_bytes(32))
        receipt = self.send_rotation(self.rotation(new))
        self.use_key(new)
        return receipt

    # reading

    def view(self) -> RoundView:
        """Where the federation stands."""
        return RoundView.decode(self.api.get("rounds/current"))

    def plan(self) -> Signed[Plan]:
        """The newest plan."""
        plan = self.view().plan
        assert plan is not None
        return plan

    def prior(self, version: int | str = "latest") -> PriorView:
        """A prior."""
        return PriorView.decode(self.api.get(f"priors/{version}"))

    def roster(self, version: int) -> Signed[Roster]:
        """A roster."""
        return Signed[Roster].decode(self.api.get_public(f"rosters/{version}"))

    def checkpoint(self) -> Checkpoint:
        """The newest checkpoint, verified."""
        view = CheckpointView.decode(self.api.get_public("/v1/log/checkpoint"))
        key = self.ticket.service_key
        return checkpoint.open_note(view.note, checkpoint.name_of(key), key)

    def consistency(self, old: int, new: int) -> tuple[bytes, ...]:
        """A consistency proof."""
        return LogProof.decode(self.api.get_public("/v1/log/consistency", {"old": old, "new": new})).hashes

    def entries(self, start: int, end: int) -> LogEntries:
        """Leaves."""
        return LogEntries.decode(self.api.get_public("/v1/log/entries", {"start": start, "end": end}))

    # a round

    def check(self) -> CheckedPlan:
        """Check the newest plan and write that down; a second time, what was written."""
        signed = self.plan()
        plan, history = signed.message, self.client.history()
        past = history.round(plan.round)
        if past is not None and past.plan == plan:
            return recall(past)
        now = self.checkpoint()
        latest, kept = LogPosition(size=now.size, root=now.root), history.checkpoint
        record = self.prior(plan.prior_version).prior.message
        checked = check_plan(
            signed,
            client=self.name,
            anchors=self.anchors,
            roster=self.roster(plan.roster_version),
            prior=NamedPrior(record.version, record.theta_version, record.digest(), record.vector()),
            log=LogView(
                latest,
                () if kept is None else self.consistency(kept.size, latest.size),
                self.consistency(plan.checkpoint.size, latest.size),
            ),
            history=history,
            floors=self.client.floors,
        )
        self.client.journal.append(PlanChecked(checked.plan, checked.roster, latest))
        self.client.forget_keys(checked.plan)
        return checked

    def contribution(self, values: np.ndarray | None = None, weight: int = 10) -> bytes:
        """A body for the newest round, written to the journal; by default the prior, a little shifted."""
        checked = self.check()
        if values is None:
            shift = 0.01 * (1 + int(signatures.public_bytes(self.client.identity_key)[0]))
            values = self.prior(checked.plan.prior_version).prior.message.vector() + shift / 100
        made = contribute(checked, self.name, self.client.identity_key, values, weight, self.random_bytes)
        self.encoded.append(checked.codec.encode(values, weight).vector)
        body = made.contribution.encode()
        self.client.journal.append(ContributionWritten(checked.plan.round, body))
        return body

    def contribute(self, values: np.ndarray | None = None, weight: int = 10) -> Receipt:
        """Contribute to the newest round."""
        return self.send_contribution(self.contribution(values, weight))

    def send_contribution(self, body: bytes, number: int | None = None, client: str | None = None) -> Receipt:
        """Send a contribution, by default to the newest round and in one's own name."""
        number = self.client.history().last_round if number is None else number
        return Receipt.decode(self.api.put(f"rounds/{number}/contributions/{client or self.name}", body))

    def cohort(self, number: int) -> CohortView:
        """The cohort with one's own boxes."""
        return CohortView.decode(self.api.get(f"rounds/{number}/cohort"))

    def opening(self) -> bytes:
        """The answer to the newest round's cohort, written to the journal."""
        checked = self.check()
        view = self.cohort(checked.plan.round)
        history, end = self.client.history(), view.cohort.message.checkpoint.size
        start, kept = span_start(checked, history).size, history.checkpoint
        got = self.entries(start, end)
        # Others' openings are leaves: whoever checks the plan after them keeps a checkpoint later than the cohort's.
        since = self.consistency(end, kept.size) if kept is not None and kept.size > end else ()
        span = LogSpan(merkle.Frontier(start, got.frontier), got.leaves, since)
        return self._answer(checked, view, span)

    def opening_of_nothing(self, number: int) -> bytes:
        """The answer to the empty cohort of an aborted round, written to the journal."""
        (aborted,) = (one for one in self.view().aborted if one.plan.message.round == number)
        past = self.client.history().round(number)
        assert past is not None
        view = CohortView(cohort=aborted.cohort, entries=())
        return self._answer(recall(past), view, LogSpan(merkle.Frontier.empty(), ()))

    def open(self) -> Receipt:
        """Open the newest round."""
        return self.send_opening(self.opening())

    def open_nothing(self, number: int) -> Receipt:
        """Help to prove an aborted round void."""
        return self.send_opening(self.opening_of_nothing(number), number)

    def send_opening(self, body: bytes, number: int | None = None, client: str | None = None) -> Receipt:
        """Send an opening, by default of the newest round and in one's own name."""
        number = self.client.history().last_round if number is None else number
        return Receipt.decode(self.api.put(f"rounds/{number}/openings/{client or self.name}", body))

    def complaint(self) -> bytes:
        """The complaint of the boxes of the newest round that do not open; fails where all do."""
        checked = self.check()
        with pytest.raises(CohortRefused) as refused:
            self.opening()
        view = self.cohort(checked.plan.round)
        return complain(checked, view, self.name, self.client.identity_key, refused.value.accused).encode()

    def complain(self) -> Receipt:
        """Complain of the boxes of the newest round that do not open."""
        return self.send_complaint(self.complaint(), self.client.history().last_round)

    def send_complaint(self, body: bytes, number: int, client: str | None = None) -> Receipt:
        """Send a complaint, by default in one's own name."""
        return Receipt.decode(self.api.put(f"rounds/{number}/complaints/{client or self.name}", body))

    def _answer(self, checked: CheckedPlan, view: CohortView, span: LogSpan) -> bytes:
        opened = open_cohort(
            checked,
            view,
            span,
            self.client.member(checked.plan),
            self.client.new_key(),
            service_key=self.ticket.service_key,
            history=self.client.history(),
            floors=self.client.floors,
            revoked_by=lambda leaf: entries.revoked_by(leaf, self.ticket.federation),
            seconds=SECONDS,
        )
        body = opened.opening.encode()
        self.client.journal.append(CohortOpened(checked.plan.round, view.cohort.message, body, opened.revocations))
        return body

    def opened(self, number: int) -> Cohort | None:
        """The cohort that it opened in a round."""
        past = self.client.history().round(number)
        return None if past is None else past.opened


def refusal(party: Party, kind: type[FgprError], act: Callable[[], object]) -> dict[str, Any]:
    """The problem document with which the aggregator refuses what `act` sends."""
    with pytest.raises(kind) as raised:
        act()
    assert type(raised.value) is kind
    document: dict[str, Any] = json.loads(party.transport.answers[-1][1])
    assert document["status"] == party.transport.answers[-1][0]
    return document


def repacked(
    body: bytes, key: Ed25519PrivateKey, *, masked: bytes | None = None, boxes: tuple[bytes, ...] | None = None
) -> bytes:
    """A contribution with other parts, signed as if they had always been there."""
    made = Contribution.decode(body)
    masked = made.masked if masked is None else masked
    boxes = made.boxes if boxes is None else boxes
    header = made.header.message.model_copy(update={"masked": masked_digest(masked), "boxes": boxes_root(boxes)})
    return Contribution(header=Signed[Header].make(key, header), masked=masked, boxes=boxes).encode()

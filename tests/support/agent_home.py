"""A federation in memory as the aggregator of one real agent: its requests are answered without a network."""

import hashlib
import re
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from aggregator.answers import Answer, Request, Signer
from client_agent import identity, keyfile, membership
from client_agent.events import Event, Kind
from client_agent.federation_client import Connection
from client_agent.membership import Membership
from client_agent.opening_keys import OpeningKeys
from client_agent.participate import participate
from fgpr import merkle, private_keys, signatures
from fgpr.auditlog import checkpoint, entries
from fgpr.auditlog.checkpoint import Checkpoint
from fgpr.errors import Conflict, RequestError, TooLate, UnknownResource
from fgpr.gp.training_settings import TrainingSettings
from fgpr.message import Message, Signed, timestamp
from fgpr.rest import (
    AbortedRound,
    CheckpointView,
    EnrolmentReceipt,
    EnrolmentRequest,
    LogEntries,
    LogProof,
    PriorView,
    Receipt,
    RoundView,
    State,
)
from fgpr.secagg.messages import Complaint, Contribution, Opening, Plan
from fgpr.secagg.stages import Stage
from support.client import NAME
from support.federation import Federation

TRAINING = TrainingSettings(steps=2).to_json()
ORIGIN = "http://aggregator.invalid"

MOST_REQUESTS = 300
"""More than any test needs: an agent that never rests fails."""

Params = Mapping[str, str | int] | None


class Killed(BaseException):
    """Stands for SIGKILL: nothing in the agent may catch it."""


class InMemory:
    """The connection of one client to a federation in memory.

    Args:
        federation: the aggregator.
        client: who asks.
        stop: set as soon as the client asks again and nothing has changed.

    Attributes:
        puts: every body that was sent, as (path, body), whether it arrived or not.
        requests: how many requests there were.
        before, after: called with the number of each request, before it has its effect and after.
        refuse: an error for a path that contains the key.
        change: what is made of the answer for such a path.
        enrolled: what parties enrolled with.
        state: whether rounds open.
        leaves_hidden: as many of the newest leaves are kept from this client.
        clock: the aggregator's.
    """

    def __init__(self, federation: Federation, client: str, stop: threading.Event) -> None:
        self.federation, self.client, self.stop = federation, client, stop
        self.puts: list[tuple[str, bytes]] = []
        self.requests = 0
        self.before: Callable[[int], None] = lambda _: None
        self.after: Callable[[int], None] = lambda _: None
        self.refuse: dict[str, Exception] = {}
        self.change: dict[str, Callable[[Any], Message]] = {}
        self.leaves_hidden = 0
        self.clock: Callable[[], datetime] = lambda: datetime.now(UTC)
        self.state: State = "open"
        self.enrolled: dict[str, EnrolmentRequest] = {}

    def get(self, path: str, params: Params = None) -> bytes:
        return self._answer(path, params or {}, None)

    def get_public(self, path: str, params: Params = None) -> bytes:
        return self._answer(path, params or {}, None)

    def post(self, path: str, body: bytes) -> bytes:
        return self._answer(path, {}, body)

    def put(self, path: str, body: bytes) -> bytes:
        self.puts.append((path, body))
        return self._answer(path, {}, body)

    def delete(self, path: str) -> bytes:
        assert path == f"clients/{self.client}"
        self.federation.revoke(self.client)
        return b""

    def handle(self, request: httpx.Request) -> httpx.Response:
        """Answer an HTTP request as the aggregator does, signed; the request's signature is for other tests."""
        response = self._respond(request)
        answer = Answer(
            response.status_code, response.headers, Request(request.method, str(request.url), request.headers)
        )
        Signer(self.federation.service_key, lambda: datetime.now(UTC)).sign(answer, response.content)
        return response

    def _respond(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix(f"/v1/federations/{NAME}/")
        params = {name: value if name == "seen" else int(value) for name, value in request.url.params.items()}
        try:
            if request.method == "DELETE":
                return httpx.Response(204, content=self.delete(path))
            if request.method == "PUT":
                return httpx.Response(200, content=self.put(path, request.content))
            return httpx.Response(200, content=self._answer(path, params, request.content or None))
        except RequestError as error:
            return httpx.Response(409, json={"type": f"urn:fgpr:problem:{error.slug}", "detail": str(error)})

    def _answer(self, path: str, params: Mapping[str, str | int], body: bytes | None) -> bytes:
        self.requests += 1
        assert self.requests < MOST_REQUESTS, f"the agent asks again and again, now for {path}"
        self.before(self.requests)
        for part, error in self.refuse.items():
            if part in path:
                raise error
        message = self._message(path, dict(params), body)
        for part, change in self.change.items():
            if part in path:
                message = change(message)
        self.after(self.requests)
        return message.encode()

    def _message(self, path: str, params: dict[str, Any], body: bytes | None) -> Message:
        fed, tree = self.federation, self._tree()
        if path == "rounds/current":
            view = self.view()
            if params.get("seen") == view.state:
                self.stop.set()
            return view
        if path == "/v1/enrolments" and body is not None:
            return self._enrol(EnrolmentRequest.decode(body))
        if path == "/v1/log/checkpoint":
            name = checkpoint.name_of(fed.anchors.service_key)
            note = checkpoint.sign(Checkpoint(name, tree.size, tree.root()), name, fed.service_key)
            return CheckpointView(note=note, service_key=fed.anchors.service_key)
        if path == "/v1/log/entries":
            start, end = params["start"], min(params["end"], params["start"] + 2, tree.size)
            hashes = merkle.frontier(start, tree.node).hashes
            return LogEntries(start=start, end=end, frontier=hashes, leaves=tuple(fed.log.leaves[start:end]))
        if path == "/v1/log/inclusion":
            return LogProof(hashes=merkle.inclusion_proof(params["index"], params["size"], tree.node))
        if path == "/v1/log/consistency":
            return LogProof(hashes=merkle.consistency_proof(params["old"], params["new"], tree.node))
        if match := re.fullmatch(r"rosters/(\d+)", path):
            return next(state.roster for state in fed.rounds.values() if state.roster.message.version == int(match[1]))
        if match := re.fullmatch(r"priors/(latest|\d+)", path):
            return self._prior(fed.prior.version if match[1] == "latest" else int(match[1]))
        if match := re.fullmatch(r"rounds/(\d+)/(contributions|openings|complaints|cohort)(?:/([a-z0-9-]+))?", path):
            return self._round(int(match[1]), match[2], match[3], body)
        raise UnknownResource(path)

    def _round(self, number: int, what: str, client: str | None, body: bytes | None) -> Message:
        fed, state = self.federation, self.federation.rounds[number]
        if what == "cohort":
            assert state.cohort is not None
            return fed.view(self.client, state.cohort)
        assert client == self.client
        assert body is not None
        receipt = Receipt(
            federation=NAME, round=number, client=client, body=hashlib.sha256(body).digest(), counted=True
        )
        if what == "contributions":
            made = Contribution.decode(body)
            known = state.contributions.get(client)
            if known is not None and known != made:
                raise Conflict("another body")
            if known is None and state.stage is not Stage.CONTRIBUTING:
                raise TooLate("no more contributions")
            if known is None:
                fed.receive(made)
            return receipt
        if what == "complaints":
            complaint = Signed[Complaint].decode(body)
            if state.complaints.get(client, complaint) != complaint:
                raise Conflict("another complaint")
            if client not in state.complaints:
                fed.take_complaint(complaint)
            return receipt
        answer = Signed[Opening].decode(body)
        target = state.empty or state.cohort
        assert target is not None
        if client in state.openings and state.openings[client] != answer:
            raise Conflict("another opening")
        if answer.message.cohort != target.message.digest():
            raise TooLate("no more openings of that cohort")
        if client not in state.openings:
            fed.take(answer, target.message)
        return receipt

    def view(self) -> RoundView:
        """Where the federation stands."""
        fed = self.federation
        aborted = [state for state in fed.rounds.values() if state.stage is Stage.ABORTED]
        now = fed.rounds.get(max(fed.rounds, default=0))
        number = 0 if now is None else now.plan.message.round
        return RoundView(
            federation=NAME,
            round=number,
            stage=None if now is None else now.stage,
            state=f"{number}.{now.stage if now else ''}.{len(aborted)}.{self.state}",
            federation_state=self.state,
            plan=None if now is None else now.plan,
            cohort=None if now is None else now.cohort,
            reason=None,
            prior_version=fed.prior.version,
            aborted=tuple(AbortedRound(plan=state.plan, cohort=state.empty) for state in aborted if state.empty),
            server_time=timestamp(self.clock()),
        )

    def _enrol(self, request: EnrolmentRequest) -> EnrolmentReceipt:
        known = self.enrolled.setdefault(request.client, request)
        if known != request:
            raise Conflict("another key took up this ticket")
        return EnrolmentReceipt(
            federation=request.federation,
            client=request.client,
            role="client" if request.opening_key else "reader",
            key_id=signatures.key_id(request.identity_key),
            round=0,
            prior_version=0,
        )

    def _prior(self, version: int) -> PriorView:
        for index, raw in enumerate(self.federation.log.leaves):
            leaf = entries.decode(raw)
            if isinstance(leaf, entries.PriorPublished) and leaf.prior.message.version == version:
                return PriorView(prior=leaf.prior, leaf=raw, index=index)
        raise UnknownResource(f"there is no prior {version}")

    def _tree(self) -> merkle.Tree:
        leaves = self.federation.log.leaves
        return merkle.Tree([merkle.leaf_hash(leaf) for leaf in leaves[: len(leaves) - self.leaves_hidden]])


class AgentHome:
    """The home of one client of a federation in memory, and its agent at work in it.

    Attributes:
        connection: the aggregator's side.
        api: the way there; the connection itself, unless a test puts a network between.
    """

    api: Connection

    def __init__(self, federation: Federation, client: str, home: Path, role: Any = "client") -> None:
        self.federation, self.client, self.home = federation, client, home
        keyfile.make_folder(home)
        there = federation.clients[client]
        keyfile.write(home / identity.FILE_NAME, private_keys.to_pem(there.identity_key))
        if role == "client":
            OpeningKeys(home).add(1, there.opening_keys[1])
        anchors = federation.anchors
        membership.save(
            home,
            Membership(
                origin=ORIGIN,
                federation=NAME,
                client=client,
                role=role,
                service_key=anchors.service_key,
                roster_key=anchors.roster_key,
            ),
        )
        self.events: list[Event] = []
        self.served = 0
        self.connect()

    def connect(self) -> InMemory:
        """A new connection, as after a start."""
        self.stop = threading.Event()
        self.connection = InMemory(self.federation, self.client, self.stop)
        self.api = self.connection
        return self.connection

    def run(self, source: Any, **options: Any) -> list[Kind]:
        """Let the agent work until there is nothing to do; the kinds of what it told."""
        self.stop.clear()
        told: list[Event] = []
        try:
            self.served = participate(
                self.home,
                source,
                api=self.api,
                stop=self.stop,
                on_event=told.append,
                poll_seconds=0,
                pause=0.0,
                **options,
            )
        finally:
            self.events += told
        return [event.kind for event in told]


def plan(federation: Federation, **changes: Any) -> Signed[Plan]:
    """Open a round whose local settings an agent can train with."""
    return federation.plan(**({"training": TRAINING} | changes))

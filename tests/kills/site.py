"""What stays when the aggregator dies: its files, the clients and what they wrote, and the clock on the wall."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from aggregator.settings import Settings
from fgpr.errors import Conflict, Unavailable
from fgpr.rest import Receipt
from fgpr.ticket import Ticket
from kills.process import AggregatorProcess, Died, Failed
from support.aggregator import Clock
from support.client import CohortOpened, ContributionWritten
from support.party import Party, Recorded

T = TypeVar("T")

ATTEMPTS = 6
"""How often a client or the operator tries again; one fault is injected, so that two are enough."""


class Wire(Recorded):
    """The way of all clients to whichever process serves now."""

    def __init__(self, site: "Site") -> None:
        super().__init__()
        self._site = site

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        if request.method != "GET":
            self._site.sent.append((request.method, str(request.url), request.headers.raw, request.content))
        loss = self._site.next_loss()
        if loss == "request":
            raise httpx.ConnectError("the request was lost")
        try:
            status, headers, content = self._site.ask("http", *self._site.parts(request))
        except Died as error:
            raise httpx.ReadError("the aggregator was killed") from error
        if loss == "answer":
            raise httpx.ReadError("the answer was lost")
        return httpx.Response(status, headers=headers, content=content)


@dataclass
class Site:
    """One federation around its aggregator.

    Attributes:
        settings: of the aggregator; the database in them changes with each copy.
        prepare: done in each process before it starts.
        sent: every request with an effect, signature and all.
        receipts: what was acknowledged.
        restarts: how often the aggregator was started again after it had died.
        process: the one that serves.
        losses: what is to be lost of requests to come, by their number from 1: "request" or "answer".
        asked: requests so far.
    """

    settings: Settings
    prepare: Callable[[], None]
    clock: Clock = field(default_factory=Clock)
    parties: dict[str, Party] = field(default_factory=dict)
    sent: list[tuple[str, str, list[tuple[bytes, bytes]], bytes]] = field(default_factory=list)
    receipts: dict[str, list[Receipt]] = field(default_factory=dict)
    enrolled: set[str] = field(default_factory=set)
    restarts: int = 0
    process: AggregatorProcess | None = None
    losses: dict[int, str] = field(default_factory=dict)
    asked: int = 0

    def next_loss(self) -> str | None:
        """What is to be lost of the request that goes out now."""
        self.asked += 1
        return self.losses.pop(self.asked, None)

    def start(self) -> None:
        """Start the aggregator."""
        self.process = AggregatorProcess(self.settings, self.prepare)

    def stop(self) -> None:
        """Stop it in good order."""
        if self.process is not None:
            self.process.stop()

    def ask(self, command: str, *arguments: Any) -> Any:
        """Have the aggregator do something now."""
        assert self.process is not None
        return self.process.ask(self.clock(), command, *arguments)

    def parts(self, request: httpx.Request) -> tuple[str, str, list[tuple[bytes, bytes]], bytes]:
        """A request as the process takes it."""
        return request.method, str(request.url), request.headers.raw, request.content

    def persist(self, act: Callable[[], T]) -> T:
        """Do it, again where there was no answer or a passing fault; whoever looks after the aggregator restarts it."""
        for _ in range(ATTEMPTS):
            try:
                return act()
            except (Unavailable, Died):
                assert self.process is not None
                if not self.process.alive:
                    self.restarts += 1
                    self.start()
        raise AssertionError(f"no success in {ATTEMPTS} attempts")

    def operate(self, command: str, *arguments: Any) -> Any:
        """Have the operator do something, again where it did not succeed."""

        def act() -> Any:
            answer = self.ask(command, *arguments)
            if isinstance(answer, Failed):
                if answer.reason.startswith(Conflict.__name__):
                    # Done before, though nobody learnt of it.
                    return None
                raise Unavailable(answer.reason)
            return answer

        return self.persist(act)

    # what clients do

    def invite(self, name: str) -> None:
        """A party gets its ticket."""
        ticket = Ticket.from_text(self.operate("invite", name))
        self.parties[name] = Party(ticket, Wire(self), self.clock, secrets.token_bytes)

    def enrol(self, name: str) -> None:
        """A party takes its ticket up."""
        self.persist(self.parties[name].enrol)
        self.enrolled.add(name)

    def contribute(self, name: str) -> None:
        """A client contributes: the same bytes, however often it has to."""
        party = self.parties[name]

        def act() -> Receipt:
            number = party.plan().message.round
            written = [one for one in party.client.journal if isinstance(one, ContributionWritten)]
            body = next((one.body for one in written if one.round == number), None) or party.contribution()
            return party.send_contribution(body, number)

        self.receipts.setdefault(name, []).append(self.persist(act))

    def open(self, name: str) -> None:
        """A member opens the newest round's cohort: the same bytes, however often it has to."""
        self._open(name, self.last_round(name), lambda party, _: party.opening())

    def open_nothing(self, name: str) -> None:
        """A member opens the empty cohort of the aborted round."""
        self._open(name, self.last_round(name), lambda party, number: party.opening_of_nothing(number))

    def last_round(self, name: str) -> int:
        """The newest round that a party checked."""
        return self.parties[name].client.history().last_round

    def _open(self, name: str, number: int, make: Callable[[Party, int], bytes]) -> None:
        party = self.parties[name]

        def act() -> Receipt:
            written = [one for one in party.client.journal if isinstance(one, CohortOpened)]
            body = next((one.body for one in written if one.round == number), None) or make(party, number)
            return party.send_opening(body, number)

        self.receipts.setdefault(name, []).append(self.persist(act))

"""A malicious aggregator and its victims: the library's functions in memory, or real agents behind a real socket."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from client_agent.api import Api
from client_agent.events import Event
from client_agent.participate import participate
from fgpr.errors import CohortRefused, FgprError, OwnerConsentRequired, PlanRefused
from fgpr.federated.publication import PriorRecord
from fgpr.message import Signed
from fgpr.rest import PriorView
from fgpr.secagg.messages import Cohort, Contribution, Plan
from fgpr.secagg.stages import Stage
from support import agent_home
from support.agent_home import AgentHome
from support.client import NAME
from support.federation import Federation
from support.lying_server import LyingServer, lying_server

ME = "client-01"
CLIENTS = 5
ROWS = {"cycle": np.arange(1.0, 9.0), "T24": np.array([642.0, 641.5, 642.5, 643.0, 642.8, 643.5, 643.9, 644.2])}
THETA = np.array([0.1, -0.9, 3.0])


def refusal(error: BaseException | None) -> str:
    """An error as the table names it."""
    if isinstance(error, OwnerConsentRequired):
        return "plan check 14: the owner is asked"
    if isinstance(error, PlanRefused):
        return f"plan check {error.check}"
    if isinstance(error, CohortRefused):
        return f"cohort check {error.check}"
    return type(error).__name__


class Victim(Protocol):
    """One client as the aggregator meets it."""

    def contribute(self) -> str:
        """Show it the newest plan; "contributed", or why nothing left it."""

    def open(self) -> str:
        """Show it the newest cohort; "opened", or why nothing left it."""

    def restart(self) -> None:
        """Stop it and start it again with what is on its disk."""

    def show_prior(self, record: PriorRecord) -> None:
        """Show it this prior, signed, whatever it asks for."""


class InMemory:
    """A victim whose steps are the library's functions."""

    def __init__(self, federation: Federation, name: str) -> None:
        self._federation, self._name = federation, name

    def contribute(self) -> str:
        """See the protocol."""
        return self._try(lambda: self._federation.contribute(self._name, THETA, 8), "contributed")

    def open(self) -> str:
        """See the protocol."""
        return self._try(self._open, "opened")

    def restart(self) -> None:
        """See the protocol."""
        self._federation.clients[self._name] = self._federation.clients[self._name].restarted()

    def show_prior(self, record: PriorRecord) -> None:
        """See the protocol."""
        self._federation.priors[-1] = record

    def _open(self) -> None:
        federation = self._federation
        signed = federation.now.cohort
        assert signed is not None
        answer = federation.ask(self._name, federation.view(self._name, signed))
        federation.take(answer, signed.message)

    def _try(self, step: Callable[[], object], done: str) -> str:
        try:
            step()
        except FgprError as error:
            return refusal(error)
        return done


class OverHttp:
    """A victim that is a real agent, at work for a server that lies."""

    def __init__(self, federation: Federation, name: str, folder: Path, server: LyingServer) -> None:
        self.home = AgentHome(federation, name, folder)
        self._server = server

    def contribute(self) -> str:
        """See the protocol."""
        return self._run("contributions", "contributed")

    def open(self) -> str:
        """See the protocol."""
        return self._run("openings", "opened")

    def restart(self) -> None:
        """See the protocol; every run of the agent reads its disk anew."""

    def show_prior(self, record: PriorRecord) -> None:
        """See the protocol."""
        key = self.home.federation.service_key
        signed = Signed[PriorRecord].make(key, record)

        def lie(view: Any) -> PriorView:
            shown: PriorView = view.model_copy(update={"prior": signed})
            return shown

        self.home.connection.change["priors/"] = lie

    def _run(self, part: str, done: str) -> str:
        connection, home = self.home.connection, self.home
        puts_before = len(connection.puts)
        told: list[Event] = []
        self._server.connection = connection
        home.stop.clear()
        with Api(self._server.origin, NAME, home.federation.clients[home.client].identity_key, attempts=1) as api:
            participate(home.home, ROWS, api=api, stop=home.stop, on_event=told.append, poll_seconds=0, pause=0.0)
        before = {body for path, body in connection.puts[:puts_before] if part in path}
        sent = {body for path, body in connection.puts[puts_before:] if part in path}
        if sent:
            return "only what was sent before" if sent <= before else done
        errors = [event.error for event in told if event.error is not None]
        return refusal(errors[-1]) if errors else "nothing sent"


class Scene:
    """A federation in memory under a malicious aggregator, and whoever it turns to."""

    def __init__(self, make: Callable[[Federation, str], Victim], federation: Federation | None = None) -> None:
        self.federation = federation or Federation(CLIENTS)
        self._make = make
        self._victims: dict[str, Victim] = {}

    def victim(self, name: str = ME) -> Victim:
        """A client; the same one each time."""
        if name not in self._victims:
            self._victims[name] = self._make(self.federation, name)
        return self._victims[name]

    @property
    def now(self) -> Plan:
        """The newest plan."""
        return self.federation.now.plan.message

    def plan(self, **changes: Any) -> Plan:
        """Open a round."""
        self.victim()
        return agent_home.plan(self.federation, **changes).message

    def lie(self, **fields: Any) -> None:
        """Show another plan for the newest round, under the service key's signature."""
        self.federation.now.plan = self.federation.signed(self.now.model_copy(update=fields))

    def contribute(self, but: Iterable[str] = ()) -> None:
        """Everybody who is invited contributes."""
        assert self.victim().contribute() == "contributed"
        for name in self.now.invited:
            if name != ME and name not in but:
                self.federation.contribute(name, THETA, 10)

    def ask(self, cohort: Signed[Cohort], stored: Mapping[str, Contribution] | None = None, name: str = ME) -> str:
        """Show a member a cohort, with other contributions than were sent where `stored` is given."""
        state = self.federation.now
        state.stage, state.cohort = Stage.OPENING, cohort
        if stored is not None:
            state.contributions = dict(stored)
        return self.victim(name).open()

    def round(self) -> None:
        """An honest round."""
        self.plan()
        self.contribute()
        self.federation.close()
        assert self.victim().open() == "opened"
        for name in self.federation.names:
            if name != ME:
                self.federation.open(name)
        self.federation.finish()


def in_memory(federation: Federation | None = None) -> Scene:
    """A scene without a network."""
    return Scene(InMemory, federation)


@contextmanager
def http(folder: Path, federation: Federation | None = None) -> Iterator[Scene]:
    """A scene with real agents and a real socket."""
    numbers = itertools.count()
    with lying_server() as server:
        yield Scene(lambda made, name: OverHttp(made, name, folder / f"{name}-{next(numbers)}", server), federation)

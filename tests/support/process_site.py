"""A federation before real aggregator processes, and parties that talk to them over HTTP, by the machine's clock."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aggregator import main
from aggregator.keys import KeyDirectory
from aggregator.service import enrolment, federations, operator
from aggregator.service.context import Context
from aggregator.settings import Settings
from aggregator.storage import rounds
from fgpr.secagg.stages import Stage
from load.processes import Replica, replicas
from support.aggregator import settings_of, wait_until
from support.client import NAME
from support.party import Party, Recorded

PATIENCE = 120.0
"""Seconds after which what should have come about fails."""


@dataclass
class ProcessSite:
    """One federation.

    Attributes:
        context: what the driver reads the database with.
        replicas: the processes.
        parties: its clients.
    """

    context: Context
    replicas: list[Replica]
    parties: list[Party] = field(default_factory=list)

    def enrol(self, count: int) -> None:
        """Enrol clients."""
        for number in range(count):
            ticket = enrolment.invite(self.context, NAME, f"client-{number:02d}", "client")
            party = Party(ticket, Recorded(), main.now, secrets.token_bytes)
            party.enrol()
            self.parties.append(party)

    def wait_for(self, number: int, stage: Stage) -> None:
        """Until that round is in that stage, or past it."""
        order = list(Stage)
        wait_until(
            lambda: (seen := self.stage(number)) is not None and order.index(seen) >= order.index(stage), PATIENCE
        )

    def stage(self, number: int) -> Stage | None:
        """The stage of a round; None before there is one."""
        with self.context.database.read() as connection:
            last = rounds.read_position(connection, NAME).number
            return None if last < number else rounds.read_state(connection, NAME, number).stage

    def play(self, number: int) -> None:
        """A whole round, in which everybody takes part."""
        self.wait_for(number, Stage.CONTRIBUTING)
        for party in self.parties:
            party.contribute()
        self.wait_for(number, Stage.OPENING)
        for party in self.parties:
            if self.stage(number) is Stage.OPENING:
                party.open()
        self.wait_for(number, Stage.PUBLISHED)
        for party in self.parties:
            forget(party)


@contextmanager
def process_site(folder: Path, url: str, clients: int, count: int = 1) -> Iterator[ProcessSite]:
    """A federation with enrolled clients and processes that serve.

    Args:
        folder: for keys and logs.
        url: a database with this program's schema.
        clients: how many; rounds begin once all are enrolled.
        count: processes of the aggregator.
    """
    keys = KeyDirectory(folder / "keys")
    keys.ensure_service()
    context = main.create_context(Settings(database=url, keys=folder / "keys"))
    try:
        operator.start_log(context)
        federations.create(context, settings_of(min_clients=clients), keys.ensure_roster(NAME))
        with replicas(folder, url, folder / "keys", count) as (origin, running):
            context.database.close()
            # Tickets carry the address, which is known only now.
            context = main.create_context(Settings(database=url, keys=folder / "keys", origin=origin))
            made = ProcessSite(context, running)
            try:
                made.enrol(clients)
                yield made
            finally:
                for party in made.parties:
                    party.api.close()
    finally:
        context.database.close()


def forget(party: Party) -> None:
    """Let go of what the driver keeps of past rounds: it is not the driver that is measured."""
    party.transport.requests.clear()
    party.transport.answers.clear()
    party.encoded.clear()
    del party.client.journal[:-6]

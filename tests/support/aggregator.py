"""A real aggregator for tests: its own database, keys and clock, behind a real socket."""

import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from fastapi import FastAPI
from sqlalchemy import select

from aggregator import main, serving
from aggregator.deadlines import Deadlines
from aggregator.intake.connection import Gate
from aggregator.keys import KeyDirectory
from aggregator.service import enrolment, federations, inspection, operator, schedule
from aggregator.service.caller import Caller
from aggregator.service.context import Context
from aggregator.service.inspection import Anchors
from aggregator.settings import Settings
from aggregator.storage import federations as priors
from aggregator.storage import log, rounds
from aggregator.storage.rounds import RoundRow
from aggregator.storage.tables import metadata
from fgpr import signatures
from fgpr.auditlog import entries
from fgpr.auditlog.entries import Leaf
from fgpr.federated.federation import Federation, Schedule
from fgpr.federated.publication import PriorRecord
from fgpr.secagg.planning import AggregationRules
from fgpr.ticket import Role, Ticket
from support.client import NAME
from support.databases import migrated_sqlite
from support.federation import SPEC
from support.party import Party, Recorded
from support.prompt_server import PromptServer

START = datetime(2031, 3, 9, 12, 0, 0, tzinfo=UTC)
CONTRIBUTE_SECONDS = 600.0
OPEN_SECONDS = 900.0

GENEROUS: dict[str, Any] = {
    "address_rate": 1e6,
    "address_burst": 1_000_000,
    "identity_rate": 1e6,
    "identity_burst": 1_000_000,
    "log_requests": False,
}
"""All parties of a test share one address, and are in a hurry."""


@dataclass
class Clock:
    """A clock that moves when it is told to."""

    now: datetime = START

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)


def settings_of(
    name: str = NAME, rules: AggregationRules | None = None, *, min_clients: int = 4, every: float = 0.0, most: int = 0
) -> Federation:
    """A federation with short stages."""
    rounds_ = Schedule(
        every=every,
        max=most,
        min_clients=min_clients,
        contribute_seconds=CONTRIBUTE_SECONDS,
        open_seconds=OPEN_SECONDS,
    )
    return Federation(name=name, model=SPEC.to_json(), aggregation=rules or AggregationRules(), rounds=rounds_)


@dataclass
class Aggregator:
    """One aggregator with one federation, and the parties that it enrolled."""

    settings: Settings
    context: Context
    clock: Clock
    app: FastAPI
    federation: Federation
    parties: dict[str, Party] = field(default_factory=dict)
    transports: list[Recorded] = field(default_factory=list)
    gate: Gate = field(init=False)

    @property
    def path(self) -> Path:
        """The SQLite file."""
        return Path(self.settings.database.removeprefix("sqlite:///"))

    def invite(self, name: str, role: Role = "client") -> Ticket:
        """A ticket."""
        return enrolment.invite(self.context, self.federation.name, name, role)

    def party(self, name: str, role: Role = "client") -> Party:
        """A party with a ticket that it has not taken up yet."""
        transport = Recorded()
        self.parties[name] = Party(self.invite(name, role), transport, self.clock, self.context.random_bytes)
        return self.parties[name]

    def enrol(self, count: int, first: int = 0) -> list[Party]:
        """Enrolled clients: client-00, client-01 and so on."""
        parties = [self.party(f"client-{number:02d}") for number in range(first, first + count)]
        for party in parties:
            party.enrol()
        return parties

    def advance(self) -> None:
        """Do what is due."""
        schedule.advance(self.context, self.federation.name)

    def look(self) -> None:
        """What the deadlines do at each tick: what is due, and the purge."""
        Deadlines(self.context, 1.0).look()

    def pass_contributing(self) -> None:
        """Let the first deadline pass."""
        self.clock.forward(CONTRIBUTE_SECONDS)
        self.advance()

    def pass_pause(self) -> None:
        """Let the longest pause between rounds pass that nobody takes part in."""
        self.clock.forward(schedule.LONGEST_PAUSE)
        self.advance()

    def pass_opening(self) -> None:
        """Let as much time pass as the second stage has."""
        self.clock.forward(OPEN_SECONDS)
        self.advance()

    def round(self, number: int) -> RoundRow:
        """A round as stored."""
        with self.context.database.read() as connection:
            return rounds.read(connection, self.federation.name, number)

    def last_round(self) -> int:
        """The newest round's number; 0 before the first."""
        with self.context.database.read() as connection:
            return rounds.read_position(connection, self.federation.name).number

    def prior(self) -> PriorRecord:
        """The newest prior."""
        with self.context.database.read() as connection:
            return priors.read_prior(connection, self.federation.name)[0].message

    def raw_leaves(self) -> list[bytes]:
        """The audit log."""
        with self.context.database.read() as connection:
            return log.read_leaves(connection, 0, 2**53)

    def leaves(self) -> list[Leaf]:
        """The audit log, read."""
        return [entries.decode(leaf) for leaf in self.raw_leaves()]

    def kinds(self) -> list[str]:
        """The kinds of the leaves, in order."""
        return [leaf.kind for leaf in self.leaves()]

    def steps(self) -> list[str]:
        """The kinds of the leaves that tell of rosters and rounds, in order."""
        others = ("federation", "ticket", "enrolled", "opening-key", "epoch")
        return [kind for kind in self.kinds() if kind not in others]

    def last(self, kind: str) -> Leaf:
        """The last leaf of a kind."""
        return next(leaf for leaf in reversed(self.leaves()) if leaf.kind == kind)

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of every table."""
        with self.context.database.read() as connection:
            return {
                table.name: sorted((tuple(row) for row in connection.execute(select(table))), key=repr)
                for table in metadata.sorted_tables
            }

    def files(self) -> bytes:
        """The database as it lies on the disk, file and write-ahead log; of PostgreSQL what its dump would hold."""
        if not self.context.database.is_sqlite:
            values = (value for rows in self.dump().values() for row in rows for value in row)
            return b"\0".join(value if isinstance(value, bytes) else str(value).encode() for value in values)
        parts = (self.path, self.path.with_name(self.path.name + "-wal"))
        return b"".join(part.read_bytes() for part in parts if part.exists())

    def anchors(self) -> Anchors:
        """What is kept outside of it now."""
        with self.context.database.read() as connection:
            key = priors.read(connection, self.federation.name).roster_key
        return inspection.anchors(self.context, {self.federation.name: key})

    def second_replica(self) -> Context:
        """Another process on the same database and keys."""
        return main.create_context(self.settings, self.clock, self.context.random_bytes)


@contextmanager
def served(
    folder: Path,
    federation: Federation | None = None,
    *,
    random_bytes: Callable[[int], bytes] = secrets.token_bytes,
    url: str | None = None,
    waiters: int = 50,
    keeps_deadlines: bool = True,
    roster_key: Ed25519PublicKey | None = None,
    prefix: str = "",
    **changed: Any,
) -> Iterator[Aggregator]:
    """An aggregator behind a real server on a loopback socket.

    Args:
        folder: for database and keys.
        federation: its settings.
        random_bytes: what aggregator and parties draw from.
        url: a database with this program's schema; SQLite in the folder where none is named.
        waiters: most requests that wait.
        roster_key: the public half, where the private one is held elsewhere.
        keeps_deadlines: with the thread that does what is due; without it that is done by requests and `advance`.
        prefix: path of the public address.
        changed: further settings.
    """
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        scheme = "https" if "tls_key" in changed else "http"
        origin = f"{scheme}://127.0.0.1:{listener.getsockname()[1]}{prefix}"
        made = _prepare(folder, origin, federation, random_bytes, url, waiters, roster_key, changed)
        with listening(made.app, made.context, listener, keeps_deadlines=keeps_deadlines) as gate:
            made.gate = gate
            try:
                yield made
            finally:
                for party in made.parties.values():
                    party.api.close()
                for transport in made.transports:
                    transport.close()


@contextmanager
def listening(app: FastAPI, context: Context, listener: socket.socket, *, keeps_deadlines: bool) -> Iterator[Gate]:
    """Serve an application on a socket, behind a gate; its database is closed with it."""
    config = serving.configure(app)
    config.lifespan = "on" if keeps_deadlines else "off"
    server = PromptServer(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield config.http.gate  # type: ignore[union-attr]  # it is a class of ours
    finally:
        server.end()
        thread.join(30)
        context.database.close()


def _prepare(
    folder: Path,
    origin: str,
    federation: Federation | None,
    random_bytes: Callable[[int], bytes],
    url: str | None,
    waiters: int = 50,
    roster_key: Ed25519PublicKey | None = None,
    changed: Mapping[str, Any] = {},
) -> Aggregator:
    settings = Settings(
        database=url or migrated_sqlite(folder / "fgpr.db"),
        keys=folder / "keys",
        origin=origin,
        tick_seconds=0.05,
        waiters=waiters,
        **(GENEROUS | changed),
    )
    keys, clock, federation = KeyDirectory(settings.keys), Clock(), federation or settings_of()
    keys.ensure_service()
    context = main.create_context(settings, clock, random_bytes)
    try:
        operator.start_log(context)
        federations.create(context, federation, roster_key or keys.ensure_roster(federation.name))
        app = main.create_app(settings, context)
    except BaseException:
        # Nobody else knows of it yet; PostgreSQL's driver warns of connections that are left open.
        context.database.close()
        raise
    return Aggregator(settings, context, clock, app, federation)


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(holds: Callable[[], object], seconds: float = 30.0) -> None:
    """Until something holds that another thread brings about; fails when it takes absurdly long."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.01)


def together(acts: Sequence[Callable[[], object]]) -> list[object]:
    """Do all of these at once, one thread each; what each gave or raised, in order."""
    barrier = threading.Barrier(len(acts))

    def act(one: Callable[[], object]) -> object:
        barrier.wait()
        try:
            return one()
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(act, acts))


def caller_of(party: Party, clock: Clock) -> Caller:
    """A party as authentication hands it on, with a fresh nonce."""
    key = party.client.public_key()
    expires = clock() + timedelta(seconds=150)
    return Caller(signatures.key_id(key), key, party.ticket.epoch + secrets.token_urlsafe(18), expires)

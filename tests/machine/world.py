"""Everything around the service: its database and keys, its processes, the clock, the parties and what they keep."""

import contextlib
import io
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator import backup_commands, main
from aggregator.keys import KeyDirectory
from aggregator.service import federations, operator, staff
from aggregator.settings import Settings
from aggregator.storage.engine import Database
from fgpr import signatures
from fgpr.auditlog import checkpoint
from machine import seen
from machine.agent import Agent, Operator
from machine.faults import CRASHES, Crash, Fault
from machine.model import Model
from machine.process import Process, Shell
from machine.violation import require
from machine.wire import Wire
from support.aggregator import GENEROUS, Clock, settings_of
from support.client import NAME

ORIGIN = "http://aggregator.invalid"
REPLICAS = 2
FEWEST = 3
"""Clients: the least with which a round is safe."""


@dataclass(frozen=True)
class Backup:
    """A file and what held when it was written."""

    file: Path
    model: Model


class World:
    """A new federation on a database of this program's schema.

    Args:
        folder: for keys and backups.
        url: the database.
        seed: of every random byte that does not come from the system's generator.
    """

    def __init__(self, folder: Path, url: str, seed: int = 1) -> None:
        self.folder, self.clock = folder, Clock()
        self.random_bytes = random.Random(seed).randbytes
        self.settings = Settings(database=url, keys=folder / "keys", origin=ORIGIN, tick_seconds=1.0, **GENEROUS)
        self.keys = KeyDirectory(self.settings.keys)
        self.keys.ensure_service()
        context = main.create_context(self.settings, self.clock, self.random_bytes)
        operator.start_log(context)
        self.federation = settings_of(min_clients=FEWEST)
        roster_key = self.keys.ensure_roster(NAME)
        federations.create(context, self.federation, roster_key)
        self.roster_key = signatures.public_bytes(roster_key)
        ticket = staff.invite(context, "olga", "operator")
        context.database.close()

        self.observer = Database(url)
        self._turn = 0
        first = self._process()
        self.processes = [first, *(self._process(shell=first.shell) for _ in range(1, REPLICAS))]
        self.wire = Wire(self)
        self.operator = Operator(
            ticket, self.wire, self.clock, Ed25519PrivateKey.from_private_bytes(self.random_bytes(32))
        )
        self.operator.enrol()
        self.agents: dict[str, Agent] = {}
        self.backups: list[Backup] = []
        self.model = Model(ticket.service_key)
        self.crashes, self.went_back = 0, False
        self.look()

    @property
    def seen(self) -> seen.Seen:
        """What the database held after the last step."""
        return self.model.last

    # processes

    def _process(self, before: Process | None = None, shell: Shell | None = None) -> Process:
        return Process(self.settings, self.clock, self.random_bytes, before, shell)

    def next(self) -> Process:
        """The process that serves the next request: each in turn."""
        self._turn = (self._turn + 1) % REPLICAS
        return self.processes[self._turn]

    def bury(self, process: Process) -> None:
        """Begin another one in place of one that was killed."""
        process.close()
        self.crashes += 1
        self.processes[self.processes.index(process)] = self._process(process)

    def restart(self) -> None:
        """Every process anew."""
        for process in list(self.processes):
            self.bury(process)

    def tick(self, fault: Fault = Fault.NONE, commits: int = 1) -> None:
        """One process looks for what is due.

        Raises:
            Violation: it met something unforeseen.
        """
        process = self.next()
        if fault in CRASHES:
            process.arm(fault, commits)
        try:
            faults = process.tick()
        except Crash:
            self.bury(process)
            return
        process.disarm()
        require("unforeseen" not in faults.values(), 17, f"a tick failed: {faults}")

    def close(self) -> None:
        """Leave nothing open."""
        for agent in self.agents.values():
            agent.api.close()
        self.operator.api.close()
        for process in self.processes:
            process.close()
        self.processes[0].shell.close()
        self.observer.close()

    # what is seen

    def look(self) -> None:
        """Read the database and hold it against the model.

        Raises:
            Violation: an invariant is broken.
        """
        self.model.check(seen.read(self.observer, self.model.last), self.clock())

    def dump(self) -> dict[str, list[str]]:
        """Every row but the nonces."""
        return seen.dump(self.observer)

    # backups

    def back_up(self) -> None:
        """Write a backup, while everything serves."""
        file = self.folder / f"backup-{len(self.backups)}-{self.random_bytes(4).hex()}.db"
        with _quiet():
            backup_commands.backup(file, self.settings.database, self.settings.keys)
        self.backups.append(Backup(file, self.model.copied()))

    def restore(self, backup: Backup, *, lose_entries: bool) -> bool:
        """Put a backup in place and begin again from it; whether the service took it.

        Raises:
            Violation: it took a log that lost entries of which it knew, without being told to; or refused another.
        """
        known = self.keys.remembered()
        size, leaves = 0, backup.model.last.leaves
        if known is not None:
            size = checkpoint.open_note(known, checkpoint.name_of(self.model.service_key), self.model.service_key).size
        continues = self.seen.leaves[:size] == leaves[:size]
        for process in self.processes:
            process.close()
        self.observer.close()
        try:
            with _quiet():
                backup_commands.restore(
                    backup.file, lose_entries=lose_entries, database=self.settings.database, keys=self.settings.keys
                )
            taken = True
        except typer.Exit:
            taken = False
        self.observer = Database(self.settings.database)
        self.processes = [self._process(process) for process in self.processes]
        require(taken == (continues or lose_entries), 11, f"a backup of {len(leaves)} leaves; {size} are known")
        if taken:
            self.went_back = True
            self.model = backup.model.copied()
            now = seen.read(self.observer, self.model.last)
            require(not now.nonces, 10, "nonces of the epoch before are kept")
        return taken


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield

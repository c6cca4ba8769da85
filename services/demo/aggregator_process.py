"""The real aggregator as a process of its own, on a loopback socket, with the federation of the demonstration."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from aggregator import main
from aggregator.keys import KeyDirectory
from aggregator.service import enrolment, federations, inspection, operator
from aggregator.service.context import Context
from aggregator.service.inspection import Anchors
from aggregator.settings import Settings
from aggregator.storage import migrate
from demo.fleet import FEATURE, Fleet
from fgpr import signatures
from fgpr.errors import Unavailable
from fgpr.federated.federation import Federation, Schedule
from fgpr.gp.arrays import Array
from fgpr.gp.model import Feature, ModelSpec, Target
from fgpr.rest import RoundSummary
from fgpr.secagg.messages import Plan
from fgpr.secagg.planning import AggregationRules
from fgpr.ticket import Role, Ticket

FEDERATION = "demo"
START_SECONDS = 60.0


def federation_of(fleet: Fleet, rounds: int, deadline: float, rules: AggregationRules | None = None) -> Federation:
    """The settings: one feature, one target, else the defaults; the first round waits for every client."""
    feature = Feature(FEATURE, "cycles", 0.0, fleet.upper)
    spec = ModelSpec.with_default_bounds([feature], Target(fleet.sensor, "sensor units", "standardise"), "rbf")
    schedule = Schedule(max=rounds, min_clients=len(fleet.clients), contribute_seconds=deadline, open_seconds=deadline)
    return Federation(name=FEDERATION, model=spec.to_json(), aggregation=rules or AggregationRules(), rounds=schedule)


class AggregatorProcess:
    """An aggregator that this demonstration starts and ends.

    Args:
        folder: for its database, keys and log.
        database: URL of another database than SQLite in the folder.
    """

    def __init__(self, folder: Path, database: str | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._port = _free_port()
        settings: dict[str, object] = {
            "database": database or f"sqlite:///{folder / 'federation.db'}",
            "keys": folder / "keys",
            "origin": f"http://127.0.0.1:{self._port}",
        }
        self.settings = Settings.model_validate(settings)
        self._process: subprocess.Popen[bytes] | None = None

    def prepare(self, federation: Federation) -> None:
        """Make keys, schema, log and federation."""
        keys = KeyDirectory(self.settings.keys)
        keys.ensure_service()
        self.context: Context = main.create_context(self.settings)
        migrate.upgrade(self.context.database)
        operator.start_log(self.context)
        federations.create(self.context, federation, keys.ensure_roster(federation.name))

    def start(self) -> None:
        """Start the process and wait until it listens.

        Raises:
            Unavailable: it ended, or does not listen in time.
        """
        command = [sys.executable, "-m", "aggregator.cli", "serve", "--listen", f"127.0.0.1:{self._port}"]
        environment = os.environ | {
            "FGPR_DATABASE": self.settings.database,
            "FGPR_KEYS": str(self.settings.keys),
            "FGPR_ORIGIN": self.settings.origin,
            # Every agent of a demonstration has this machine's address.
            "FGPR_ADDRESS_RATE": "10000",
            "FGPR_ADDRESS_BURST": "10000",
            "FGPR_CONNECTIONS_EACH": "2000",
        }
        log = (self._folder / "aggregator.log").open("ab")
        with log:
            self._process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if self._process.poll() is not None:
                raise Unavailable(f"the aggregator ended at once; see {self._folder / 'aggregator.log'}")
            with socket.socket() as probe:
                probe.settimeout(0.2)
                if probe.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(0.05)
        raise Unavailable(f"the aggregator does not listen; see {self._folder / 'aggregator.log'}")

    def stop(self) -> None:
        """End the process; its database is whole at any moment."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(15)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def kill(self) -> None:
        """End the process as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def invite(self, name: str, role: Role) -> Ticket:
        """A ticket for a party."""
        return enrolment.invite(self.context, FEDERATION, name, role)

    def rounds(self, limit: int = 100) -> list[RoundSummary]:
        """The newest rounds, newest first."""
        return operator.list_rounds(self.context, FEDERATION, limit)

    def published(self, number: int) -> tuple[Array, list[str]]:
        """The theta that a round published, and its cohort."""
        return operator.published(self.context, FEDERATION, number)

    def plan(self, number: int) -> Plan:
        """A round's plan."""
        return operator.plan_of(self.context, FEDERATION, number)

    def anchors(self) -> Anchors:
        """What is kept outside the database: the newest checkpoint and the public keys."""
        roster_key = signatures.public_bytes(self.context.keys.roster(FEDERATION))
        return inspection.anchors(self.context, {FEDERATION: roster_key})


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

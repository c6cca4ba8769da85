"""A live federation for end-to-end tests: a real aggregator process on a socket, and real agent processes."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import text

from demo import fleet
from demo.agent_process import AgentTask, write_tasks
from demo.aggregator_process import AggregatorProcess, federation_of
from demo.fleet import Fleet
from fgpr.federated.federation import Federation
from fgpr.rest import RoundSummary
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.stages import Stage

PATIENCE = 60.0


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait for something; fails with its name."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, f"waited {PATIENCE:.0f} s for: {what}"
        time.sleep(0.05)


@dataclass
class LiveFederation:
    """Processes of one federation in one folder."""

    folder: Path
    fleet: Fleet
    federation: Federation
    aggregator: AggregatorProcess
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def agent(self, name: str, launcher: str = "demo.agent_process") -> subprocess.Popen[bytes]:
        """Start an agent, for the first time or again; `launcher` is the module that runs its task."""
        task = self.folder / f"{name}.json"
        if not task.exists():
            engine = next(engine for engine in self.fleet.clients if engine.name == name)
            fleet.write_csv(self.folder / f"{name}.csv", engine, self.fleet.sensor)
            ticket = self.aggregator.invite(name, "client").to_text()
            home = self.home(name)
            write_tasks(
                task,
                [AgentTask(str(home), ticket, str(self.folder / f"{name}.csv"), str(self.folder / "notebook"), {})],
            )
        environment = {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[1]), "PATH": ""}
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", launcher, str(task)],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return process

    def home(self, name: str) -> Path:
        """An agent's home folder."""
        return self.folder / "homes" / name

    @property
    def names(self) -> list[str]:
        """The engines' names."""
        return [engine.name for engine in self.fleet.clients]

    def newest(self) -> RoundSummary | None:
        """The newest round."""
        found = self.aggregator.rounds(limit=1)
        return found[0] if found else None

    def is_in(self, stage: Stage, number: int = 1) -> bool:
        """Whether that round is in that stage."""
        return any(line.round == number and line.stage is stage for line in self.aggregator.rounds())

    def query(self, sql: str) -> list[tuple[object, ...]]:
        """Ask the database."""
        with self.aggregator.context.database.read() as connection:
            return [tuple(row) for row in connection.execute(text(sql))]

    def kill(self) -> None:
        """kill -9 the aggregator."""
        self.aggregator.kill()


@contextmanager
def live(
    folder: Path,
    clients: int,
    *,
    rounds: int = 1,
    deadline: float = 30.0,
    rules: AggregationRules | None = None,
    database: str | None = None,
) -> Iterator[LiveFederation]:
    """A federation whose aggregator runs; its processes end with the block. `database` is an empty one."""
    engines = fleet.gather(None, 4, clients, 1, seed=3)
    federation = federation_of(engines, rounds, deadline)
    if rules is not None:
        federation = federation.model_copy(update={"aggregation": rules})
    aggregator = AggregatorProcess(folder / "aggregator", database)
    aggregator.prepare(federation)
    aggregator.start()
    found = LiveFederation(folder, engines, federation, aggregator)
    try:
        yield found
    finally:
        for process in found.processes:
            process.kill()
            process.wait()
        aggregator.stop()
        aggregator.context.database.close()

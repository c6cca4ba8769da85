"""Agents of the demonstration as processes of their own: `python -m demo.agent_process TASK.json < /dev/null`.

They are real agents: homes, tickets, journals, signed requests. The launcher adds two things from outside, through the
arguments that `participate` has anyway: an observer that notes what was trained, and a connection that dies at a given
step of a given round.
"""

import json
import os
import re
import signal
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from client_agent import enrolment, identity, membership
from client_agent.api import Api, Params
from client_agent.events import Event
from client_agent.intake import read_columns
from client_agent.participate import participate
from demo.fates import Fate, Fates
from demo.observation import Notebook
from fgpr.gp.arrays import Array
from fgpr.ticket import Ticket

POLL_SECONDS = 10
PAUSE_SECONDS = 0.5

_ROUND = re.compile(r"rounds/(\d+)/(contributions|cohort)")


@dataclass(frozen=True)
class AgentTask:
    """One agent of a process.

    Attributes:
        home: its home folder.
        ticket: taken up where the home is not enrolled yet.
        data: its CSV file.
        notebook: folder of the observations.
        fates: step at which it is killed, by round.
    """

    home: str
    ticket: str
    data: str
    notebook: str
    fates: dict[int, str]


def write_tasks(path: Path, tasks: list[AgentTask]) -> None:
    """Write the file that a process is started with; only its owner reads it, for the tickets in it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump([asdict(task) for task in tasks], file)


def read_tasks(path: Path) -> list[AgentTask]:
    """The inverse of `write_tasks`."""
    tasks = json.loads(path.read_text())
    for task in tasks:
        task["fates"] = {int(number): fate for number, fate in task["fates"].items()}
    return [AgentTask(**task) for task in tasks]


def run(tasks: list[AgentTask]) -> None:
    """Run the agents, a thread each, until the process is told to stop."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    threads = [threading.Thread(target=_serve, args=(task, stop), name=Path(task.home).name) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class _Observer:
    """Notes what was trained; knows the round from the upload that follows."""

    def __init__(self, notebook: Notebook, client: str, fates: Fates, round_of: "_Round") -> None:
        self._notebook, self._client, self._fates, self._round = notebook, client, fates, round_of

    def __call__(self, theta: Array, observations: int) -> None:
        if self._fates.get(self._round.number) is Fate.BEFORE_CONTRIBUTION:
            _die()
        self._notebook.write(self._round.number, self._client, theta, observations)


@dataclass
class _Round:
    """The round whose plan this agent checked last."""

    number: int = 0

    def on_event(self, event: Event) -> None:
        self.number = max(self.number, event.round)
        sys.stderr.write(
            f"{event.at.isoformat(timespec='milliseconds')} {event.round} {event.kind.value} {event.text}\n"
        )


class _FatefulApi(Api):
    """A connection whose process dies at the step that was dealt out."""

    fates: Mapping[int, Fate] = {}

    def get(self, path: str, params: Params | None = None) -> bytes:
        answer = super().get(path, params)
        self._meet(path, "cohort", Fate.BEFORE_OPENING)
        return answer

    def put(self, path: str, body: bytes) -> bytes:
        answer = super().put(path, body)
        self._meet(path, "contributions", Fate.AFTER_CONTRIBUTION)
        return answer

    def _meet(self, path: str, step: str, fate: Fate) -> None:
        found = _ROUND.search(path)
        if found is not None and found[2] == step and self.fates.get(int(found[1])) is fate:
            _die()


def _serve(task: AgentTask, stop: threading.Event) -> None:
    home, ticket = Path(task.home), Ticket.from_text(task.ticket)
    if not (home / membership.FILE_NAME).exists():
        enrolment.enrol(home, ticket)
    fates = {number: Fate(fate) for number, fate in task.fates.items()}
    present = _Round()
    with _FatefulApi(ticket.origin, ticket.federation, identity.load(home)) as api:
        api.fates = fates
        participate(
            home,
            read_columns(Path(task.data)),
            api=api,
            stop=stop,
            observer=_Observer(Notebook(Path(task.notebook)), ticket.client, fates, present),
            on_event=present.on_event,
            poll_seconds=POLL_SECONDS,
            pause=PAUSE_SECONDS,
        )


def _die() -> None:
    """As a power cut would: no handler runs, nothing is flushed."""
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    # Everything is imported; the launcher closes this pipe when the agents shall begin.
    sys.stdin.read()
    run(read_tasks(Path(sys.argv[1])))

"""Kills one agent again and again while a federation plays rounds, starts it again each time, and judges the rounds."""

import hashlib
import json
import random
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent_kills.lives import Lives, Order
from client_agent import enrolment
from demo import fleet
from demo.agent_process import AgentTask, write_tasks
from fgpr.secagg.stages import Stage
from support.live_federation import LiveFederation, live, until

CLIENTS = 4
DEADLINE = 240.0
"""Seconds of a stage: more than any restart takes, so that a round without the victim is one that it lost."""

SEED = 7


@dataclass
class Outcome:
    """What a campaign found.

    Attributes:
        steps: those of one whole life, in order.
        kills: how many kills there were at each kind of step.
        survived: lives that ended before their step came.
        failed: lives that ended in another way than by the kill or in peace, with the code.
        rounds: rounds that ended.
        published: of these, those that published a prior with the victim in its cohort.
        other_bytes: bodies of one round and kind that were sent with other bytes before.
        second: contributions beyond the one of a round and a prior version.
        differing: stored contributions that are not the one on the agent's disk.
    """

    steps: list[str] = field(default_factory=list)
    kills: Counter[str] = field(default_factory=Counter)
    survived: int = 0
    failed: list[str] = field(default_factory=list)
    rounds: int = 0
    published: int = 0
    other_bytes: int = 0
    second: int = 0
    differing: int = 0


def play(folder: Path, kills: int, tell: Callable[[int, str], None] = lambda *_: None) -> Outcome:
    """Kill an agent so many times, and judge.

    Args:
        folder: an empty one.
        kills: at each step of a life once, evenly spread over it where there are fewer kills than steps; those beyond
            fall into the life after a kill.
        tell: is told of each kill, with the number of it.
    """
    outcome = Outcome()
    with live(folder, CLIENTS, rounds=0, deadline=DEADLINE) as federation, Lives() as lives:
        victim, *others = federation.names
        _start_others(federation, others)
        order = _enrolled(federation, victim)
        _peace(lives, order, outcome)
        outcome.steps = json.loads((Path(order.notes) / "steps").read_text())
        for at, again in schedule(len(outcome.steps), kills):
            for step in (at, again):
                if step is not None and _kill(lives, order, step, outcome):
                    tell(outcome.kills.total(), (Path(order.notes) / "died").read_text())
            _peace(lives, order, outcome)
        judge(federation, victim, Path(order.notes), outcome)
    return outcome


def schedule(steps: int, kills: int) -> list[tuple[int, int | None]]:
    """At which steps lives die: of each pair the first in a life that begins a round, the second in the one after."""
    first = [1 + place * steps // min(kills, steps) for place in range(min(kills, steps))]
    draw = random.Random(SEED)
    second: list[int | None] = [None] * len(first)
    for place in draw.sample(range(len(first)), min(kills - len(first), len(first))):
        second[place] = draw.randint(1, max(1, steps // 2))
    return list(zip(first, second, strict=True))


def _start_others(federation: LiveFederation, names: Sequence[str]) -> None:
    tasks = []
    for name in names:
        engine = next(each for each in federation.fleet.clients if each.name == name)
        data = federation.folder / f"{name}.csv"
        fleet.write_csv(data, engine, federation.fleet.sensor)
        ticket = federation.aggregator.invite(name, "client").to_text()
        notebook = str(federation.folder / "notebook")
        tasks.append(AgentTask(str(federation.home(name)), ticket, str(data), notebook, {}))
    path = federation.folder / "others.json"
    write_tasks(path, tasks)
    with (federation.folder / "others.log").open("ab") as log:
        federation.processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "demo.agent_process", str(path)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        )


def _enrolled(federation: LiveFederation, victim: str) -> Order:
    notes, data = federation.folder / "notes", federation.folder / f"{victim}.csv"
    notes.mkdir()
    engine = next(each for each in federation.fleet.clients if each.name == victim)
    fleet.write_csv(data, engine, federation.fleet.sensor)
    home = federation.home(victim)
    home.parent.mkdir(exist_ok=True)
    enrolment.enrol(home, federation.aggregator.invite(victim, "client"))
    until(lambda: federation.newest() is not None, "the first round")
    return Order(str(home), str(data), str(notes), None)


def _kill(lives: Lives, order: Order, step: int, outcome: Outcome) -> bool:
    died = Path(order.notes) / "died"
    died.unlink(missing_ok=True)
    code = lives.live(Order(order.home, order.data, order.notes, step))
    if code == -signal.SIGKILL and died.exists():
        outcome.kills[died.read_text()] += 1
        return True
    if code == 0:
        outcome.survived += 1
    else:
        outcome.failed.append(f"a life that was to die at step {step} ended with {code}")
    return False


def _peace(lives: Lives, order: Order, outcome: Outcome) -> None:
    code = lives.live(order)
    if code != 0:
        outcome.failed.append(f"a life that was to serve a round ended with {code}")


def judge(federation: LiveFederation, victim: str, notes: Path, outcome: Outcome) -> None:
    """Count what is wrong, by the digests of what was sent, the database, and the victim's disk."""
    sent: dict[str, set[str]] = defaultdict(set)
    for line in (notes / "sent").read_text().splitlines():
        path, digest = line.split()
        sent[path].add(digest)
    outcome.other_bytes = sum(len(digests) - 1 for digests in sent.values())
    for line in federation.aggregator.rounds(limit=10_000):
        if line.stage in (Stage.CONTRIBUTING, Stage.OPENING):
            continue
        outcome.rounds += 1
        if line.stage is Stage.PUBLISHED and victim in federation.aggregator.published(line.round)[1]:
            outcome.published += 1
    query = f"select round, body_digest from contributions where client = '{victim}'"  # noqa: S608
    stored = [(int(str(number)), digest) for number, digest in federation.query(query)]
    versions = [federation.aggregator.plan(number).prior_version for number, _ in stored]
    numbers = [number for number, _ in stored]
    outcome.second = (len(numbers) - len(set(numbers))) + (len(versions) - len(set(versions)))
    for number, digest in stored:
        path = federation.home(victim) / "rounds" / f"{number:06d}" / "contribution.json"
        # Old rounds are pruned from the home; what was sent for them is still noted.
        written = hashlib.sha256(path.read_bytes()).digest() if path.exists() else None
        noted = {bytes.fromhex(each) for each in sent[f"rounds/{number}/contributions/{victim}"]}
        outcome.differing += digest not in noted or written not in (None, digest)

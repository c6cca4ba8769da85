"""What one round costs each party: CPU milliseconds and bytes."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import process_time
from typing import TypeVar

from benchmarks.report import Line, at_most
from benchmarks_secagg.a_round import ARound
from fgpr.secagg.messages import CohortView

S = TypeVar("S")
T = TypeVar("T")

TURNS = 15
KB = 1000


@dataclass(frozen=True)
class Cost:
    """Of a round of n clients; milliseconds of CPU, the least of several turns, and bytes.

    Attributes:
        clients: n.
        seats: c.
        threshold: t.
        client: one client checks the plan, every opening key's signature included, and contributes.
        client_json: it reads plan and roster and writes its contribution down.
        member: one member checks the cohort and opens it.
        member_json: it reads the cohort; the opening is short.
        aggregator: it checks every contribution, closes the cohort, checks t + spare openings, opens the sum with them,
            and checks the keys of the openings that come later.
        aggregator_json: it reads every contribution and opening.
        view: it puts the cohort together for one member and writes it down.
        upload: bytes of a contribution.
        opening: bytes of an opening.
        plan: bytes of plan and roster.
        cohort: bytes of the cohort as one member gets it.
    """

    clients: int
    seats: int
    threshold: int
    client: float
    client_json: float
    member: float
    member_json: float
    aggregator: float
    aggregator_json: float
    view: float
    upload: int
    opening: int
    plan: int
    cohort: int


LIMITS: dict[int, dict[str, float]] = {
    60: {"client": 16.0, "member": 14.0, "aggregator": 20.0, "upload": 28.0},
    1000: {"client": 40.0, "member": 250.0},
}


def measure(clients: int, turns: int = TURNS) -> Cost:
    """Play one round and time its parts."""
    made = ARound(clients)
    me = made.members[0]
    few = max(1, min(turns, 600 // clients))
    with _collected():
        reading, _ = _timed(turns, lambda: None, lambda _: made.read_plan())
        client, (checked, sent) = _timed(turns, made.read_plan, lambda read: made.client(me, *read))
        writing, upload = _timed(turns, sent.model_copy, lambda fresh: fresh.encode())
    made.contribute_all(checked)
    with _collected():
        uploads_json, _ = _timed(few, lambda: None, lambda _: made.read_uploads())
        contributions, taken = _timed(few, made.read_uploads, made.take_uploads)
        # The trees over the boxes are built once for all members.
        made.view(me, taken)
        view, cohort = _timed(few, lambda: None, lambda _: made.view(me, taken).encode())
        member_json, _ = _timed(max(3, few), lambda: None, lambda _: CohortView.decode(cohort))
        member, opening = _timed(max(3, few), lambda: CohortView.decode(cohort), lambda shown: made.member(me, shown))
    made.open_all(taken)
    with _collected():
        openings_json, _ = _timed(few, lambda: None, lambda _: made.read_openings())
        openings, answers = _timed(few, made.read_openings, made.take_openings)
        unmasking, unmasked = _timed(few, lambda: None, lambda _: made.unmask(taken, answers))
    made.check_published(unmasked)
    return Cost(
        clients=clients,
        seats=len(made.federation.now.plan.message.seats),
        threshold=made.federation.now.plan.message.threshold,
        client=client,
        client_json=reading + writing,
        member=member,
        member_json=member_json,
        aggregator=contributions + openings + unmasking,
        aggregator_json=uploads_json + openings_json,
        view=view,
        upload=len(upload),
        opening=len(opening.encode()),
        plan=len(made.plan) + len(made.roster),
        cohort=len(cohort),
    )


def judge(cost: Cost) -> list[Line]:
    """The lines of the report."""
    limits = LIMITS.get(cost.clients, {})

    def line(what: str, value: float, unit: str) -> Line:
        name, limit = f"n = {cost.clients:,}: {what}", limits.get(what)
        return Line(name, value, unit) if limit is None else at_most(name, value, unit, limit)

    return [
        line("client", cost.client, "CPU ms"),
        line("client, reading and writing", cost.client_json, "CPU ms"),
        line("member", cost.member, "CPU ms"),
        line("member, reading", cost.member_json, "CPU ms"),
        line("aggregator", cost.aggregator, "CPU ms"),
        line("aggregator, reading", cost.aggregator_json, "CPU ms"),
        line("aggregator, the cohort for one member", cost.view, "CPU ms"),
        line("upload", cost.upload / KB, "kB"),
        line("opening", cost.opening / KB, "kB"),
        line("plan and roster", cost.plan / KB, "kB"),
        line("cohort for one member", cost.cohort / KB, "kB"),
    ]


def _timed(turns: int, prepare: Callable[[], S], work: Callable[[S], T]) -> tuple[float, T]:
    # The least of them: whatever else the machine does meanwhile only adds. What was read anew has nothing written down
    # of itself yet, as for a party that meets it for the first time.
    taken, results = [], []
    for _ in range(turns):
        given = prepare()
        start = process_time()
        results.append(work(given))
        taken.append(1000.0 * (process_time() - start))
        # What the turn before has made is not torn down within this one's time.
        del results[:-1]
    return min(taken), results[-1]


@contextmanager
def _collected() -> Iterator[None]:
    # What the other 999 clients keep in this one process is not in the heap of any of them.
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()

"""What one process of `make machine` does: the lives on one database, or one plant."""

import logging
import traceback
from collections import Counter
from dataclasses import dataclass

import structlog
from rich.console import Console

from machine import campaign
from machine.databases import NewDatabase, on_postgresql, on_sqlite
from machine.plants import PLANTS
from machine.violation import Violation
from support import postgres

BATCH = 50
"""Examples at a time; each batch has the next seed."""

EXAMPLE_STEPS = 30


@dataclass(frozen=True)
class Run:
    """What came of one database.

    Attributes:
        counts: of everything.
        violation: how it was reached; None where there is none.
    """

    counts: Counter[str]
    violation: str | None = None


def quiet() -> None:
    """Say nothing but what the table says."""
    # What the aggregator tells its operator is not part of the table.
    logging.disable(logging.CRITICAL)
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())


def live(name: str, steps: int, seed: int) -> Run:
    """At least so many steps on one database, or as many as led to a violation."""
    if name == "sqlite":
        return _batches(name, on_sqlite, steps, seed)
    with postgres.running() as server:
        return _batches(name, on_postgresql(server), steps, seed)


def _batches(name: str, new_database: NewDatabase, steps: int, seed: int) -> Run:
    counts: Counter[str] = Counter()
    while counts["steps"] < steps:
        try:
            counts += campaign.run(new_database, BATCH, EXAMPLE_STEPS, seeded=seed)
        except Exception:
            # Whatever ends a life that should go on is a fault, named or not; the notes tell its steps.
            return Run(counts, traceback.format_exc())
        seed += 1
        Console(stderr=True).print(f"{name}: {counts['steps']} of {steps} steps", highlight=False)
    return Run(counts)


def finds(place: int) -> str | None:
    """How the machine notices that one defence is missing; None where it does not, or by another invariant."""
    plant = PLANTS[place]
    try:
        with plant.take_out():
            campaign.run(on_sqlite, 2 * BATCH, EXAMPLE_STEPS, seeded=plant.seed, shrink=False)
    except Violation as violation:
        return str(violation) if violation.number in plant.found_as else None
    return None

"""Runs the machine on one database."""

from collections import Counter

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from machine.databases import NewDatabase
from machine.rounds import Rounds


def run(
    new_database: NewDatabase, examples: int, steps: int, *, seeded: int | None = None, shrink: bool = True
) -> Counter[str]:
    """Run examples of so many steps; what was counted.

    Args:
        new_database: the URL of a new database with this program's schema, given a folder of its own.
        examples: how many.
        steps: of each.
        seeded: None for always the same examples.
        shrink: look for the shortest failing example.

    Raises:
        Violation: an invariant is broken; a note says by which steps.
    """
    counts: Counter[str] = Counter()
    machine = type("Machine", (Rounds,), {"new_database": staticmethod(new_database), "counts": counts})
    if seeded is not None:
        machine = seed(seeded)(machine)
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=seeded is None,
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        verbosity=Verbosity.normal,
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=chosen)
    return counts

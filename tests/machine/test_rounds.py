"""The short form of `make machine`: always the same examples, on each of the two databases."""

from machine import campaign
from machine.databases import NewDatabase

EXAMPLES, STEPS = 4, 30


def test_invariants_hold_in_random_lives_of_a_federation(new_database: NewDatabase) -> None:
    counts = campaign.run(new_database, EXAMPLES, STEPS)
    assert counts["examples"] >= EXAMPLES
    assert counts["steps"] >= 10 * EXAMPLES
    # It would show little if nothing ever came of a round.
    assert counts["round published"] > 0
    assert counts["killed processes"] > 0

"""The machine finds a defence that is taken out: those that it finds soon; `make machine` takes out all of them."""

import pytest

from machine import campaign
from machine.databases import on_sqlite
from machine.plants import PLANTS, SOON_FOUND, Plant
from machine.violation import Violation


@pytest.mark.parametrize("plant", PLANTS[:SOON_FOUND], ids=lambda plant: plant.name)
def test_a_missing_defence_is_found(plant: Plant) -> None:
    with plant.take_out(), pytest.raises(Violation) as found:
        campaign.run(on_sqlite, 100, 30, seeded=plant.seed, shrink=False)
    assert found.value.number in plant.found_as, str(found.value)


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_each_defence_is_there_to_be_taken_out(plant: Plant) -> None:
    with plant.take_out():
        pass

"""Every experiment of the catalogue, as far as it can be held without being run."""

import json

import pytest

from fgpr.experiments.catalogue import EXPERIMENTS
from fgpr.experiments.experiment import Experiment


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda one: one.name)
def test_settings_come_back_from_a_record_as_they_went(experiment: Experiment) -> None:
    # A tuple would come back as a list, so that the record would never count as done.
    for system in experiment.systems:
        assert json.loads(json.dumps(system.settings)) == system.settings

"""Every experiment by its name on the command line."""

from fgpr.errors import DataError
from fgpr.experiments.experiment import Experiment
from fgpr.experiments.table1 import CORNERS_ALONE, TABLE1

EXPERIMENTS = {experiment.name: experiment for experiment in (TABLE1, CORNERS_ALONE)}


def experiment_named(name: str) -> Experiment:
    """The experiment of that name.

    Raises:
        DataError: there is none.
    """
    if name not in EXPERIMENTS:
        raise DataError(f"no experiment is named {name!r}; there are {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]

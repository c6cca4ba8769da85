"""Every experiment by its name on the command line."""

from collections.abc import Mapping
from typing import Any

from fgpr.errors import DataError
from fgpr.experiments.convergence import EXAMPLE1, EXAMPLE2
from fgpr.experiments.demonstrations import ABLATION, EXAMPLE3, ONE_INPUT, SINES
from fgpr.experiments.experiment import Experiment
from fgpr.experiments.records import Cell
from fgpr.experiments.table1 import CORNERS_ALONE, TABLE1
from fgpr.experiments.table2 import TABLE2
from fgpr.experiments.table3 import TABLE3, TABLE3_WHOLE
from fgpr.experiments.theorems import THEOREMS

_ALL = (
    TABLE1,
    CORNERS_ALONE,
    TABLE2,
    TABLE3,
    TABLE3_WHOLE,
    EXAMPLE1,
    EXAMPLE2,
    EXAMPLE3,
    ONE_INPUT,
    SINES,
    ABLATION,
    THEOREMS,
)

EXPERIMENTS = {experiment.name: experiment for experiment in _ALL}


def experiment_named(name: str) -> Experiment:
    """The experiment of that name.

    Raises:
        DataError: there is none.
    """
    if name not in EXPERIMENTS:
        raise DataError(f"no experiment is named {name!r}; there are {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


def settings_of(cell: Cell) -> Mapping[str, Any]:
    """What the system of a cell is set by now.

    Raises:
        DataError: no such experiment or system.
    """
    return experiment_named(cell.experiment).system(cell.system).settings

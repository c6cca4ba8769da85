"""The paper's own figures, to stand beside ours (Yue and Kontar, its Tables 1 to 3).

Table 1 has RMSE; Tables 2 and 3 are printed times ten, and stand here divided by it.
"""

from typing import NamedTuple


class Figure(NamedTuple):
    """A figure of the paper, with what it prints beside it."""

    mean: float
    sd: float


TABLE1 = {
    ("CURRIN", "fgpr"): Figure(0.148, 0.056),
    ("CURRIN", "separate"): Figure(0.301, 0.080),
    ("CURRIN", "ar"): Figure(0.295, 0.052),
    ("CURRIN", "deep"): Figure(0.252, 0.064),
    ("PARK", "fgpr"): Figure(0.012, 0.002),
    ("PARK", "separate"): Figure(0.052, 0.006),
    ("PARK", "ar"): Figure(0.035, 0.001),
    ("PARK", "deep"): Figure(0.013, 0.001),
    ("BRANIN", "fgpr"): Figure(0.260, 0.065),
    ("BRANIN", "separate"): Figure(0.374, 0.089),
    ("BRANIN", "ar"): Figure(0.335, 0.070),
    ("BRANIN", "deep"): Figure(0.213, 0.085),
    ("Hartmann-3D", "fgpr"): Figure(0.365, 0.074),
    ("Hartmann-3D", "separate"): Figure(0.456, 0.087),
    ("Hartmann-3D", "ar"): Figure(0.412, 0.067),
    ("Hartmann-3D", "deep"): Figure(0.383, 0.092),
    ("Borehole", "fgpr"): Figure(0.604, 0.006),
    ("Borehole", "separate"): Figure(0.633, 0.006),
    ("Borehole", "ar"): Figure(0.615, 0.005),
    ("Borehole", "deep"): Figure(0.622, 0.007),
}

TABLE2 = {
    ("2", "fgpr"): Figure(0.545, 0.087),
    ("2", "polynomial"): Figure(0.679, 0.098),
    ("2", "neural"): Figure(0.647, 0.102),
    ("7", "fgpr"): Figure(0.576, 0.076),
    ("7", "polynomial"): Figure(0.655, 0.089),
    ("7", "neural"): Figure(0.671, 0.085),
}
"""sd: over the engines."""

TABLE3 = {
    ("1", "fgpr"): Figure(0.275, 0.184),
    ("3", "fgpr"): Figure(0.242, 0.157),
    ("5", "fgpr"): Figure(0.220, 0.129),
    ("7", "fgpr"): Figure(0.238, 0.144),
    ("1", "ditto"): Figure(0.301, 0.170),
    ("3", "ditto"): Figure(0.305, 0.211),
    ("5", "ditto"): Figure(0.289, 0.137),
    ("7", "ditto"): Figure(0.290, 0.150),
}
"""sd: over the devices."""

FIGURES = {"table1": TABLE1, "table2": TABLE2, "table3": TABLE3}
"""By experiment, then by item and system. A form of FGPR stands beside the paper's one FGPR."""


def figure(experiment: str, item: str, system: str) -> Figure | None:
    """The paper's figure for a system, or None; all forms of FGPR have that of FGPR, and so for Separate."""
    known = FIGURES.get(experiment, {})
    return known.get((item, system)) or known.get((item, system.split("-")[0]))

"""Where the real engines lie: the folder FGPR_DATA, by default `data` in the checkout."""

import os
from pathlib import Path

from benchmarks.report import ROOT


def training_file() -> Path | None:
    """The training file of C-MAPSS FD001, where it is at hand."""
    path = ROOT / os.environ.get("FGPR_DATA", "data") / "cmapss" / "train_FD001.txt"
    return path if path.is_file() else None

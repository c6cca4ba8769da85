"""Where the data sets lie: the folder that FGPR_DATA names, by default `data`."""

import os
from pathlib import Path

from fgpr.errors import DataError


def data_folder() -> Path:
    """The folder of the data sets.

    Raises:
        DataError: there is none.
    """
    folder = Path(os.environ.get("FGPR_DATA", "data"))
    if not folder.is_dir():
        raise DataError(f"no data: {folder} is no folder; set FGPR_DATA to the one that holds cmapss/ and sarcos/")
    return folder


def present(path: Path, alternatives: tuple[str, ...] = ()) -> Path:
    """The file, or one beside it with another name.

    Raises:
        DataError: none of them is there; names them all.
    """
    candidates = [path, *(path.with_name(name) for name in alternatives)]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise DataError(
        f"none of {', '.join(str(candidate) for candidate in candidates)} is a file; put one there, or set FGPR_DATA "
        "to the folder that holds cmapss/ and sarcos/"
    )

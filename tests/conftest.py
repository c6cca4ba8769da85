"""Fixtures for every test."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data sets: FGPR_DATA, by default data/ in the checkout; without it the test is skipped."""
    folder = ROOT / os.environ.get("FGPR_DATA", "data")
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} is no folder; set FGPR_DATA")
    return folder

"""Databases by the dozen: each example of the machine has a new one."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from machine.databases import on_postgresql, on_sqlite


@pytest.fixture(params=["sqlite", "postgresql"])
def new_database(request: pytest.FixtureRequest) -> Callable[[Path], AbstractContextManager[str]]:
    """A way to new databases, on SQLite and then on PostgreSQL."""
    return on_sqlite if request.param == "sqlite" else on_postgresql(request.getfixturevalue("postgresql"))

"""Fixtures for every test."""

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from support import postgres
from support.databases import migrated_sqlite
from support.postgres import NoPostgres, Postgres

# Nothing is timed here: hypothesis's limit of 200 ms an example is one of the machine.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

ROOT = Path(__file__).resolve().parent.parent

DATABASES = ("sqlite", "postgresql")
"""A test of one database only says so: `@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)`."""


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data sets: FGPR_DATA, by default data/ in the checkout; without it the test is skipped."""
    folder = ROOT / os.environ.get("FGPR_DATA", "data")
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} is no folder; set FGPR_DATA")
    return folder


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Postgres]:
    """A real server; without one the test is skipped, but not where FGPR_REQUIRE_POSTGRESQL is set, as CI does."""
    try:
        with postgres.running() as server:
            yield server
    except NoPostgres as reason:
        if os.environ.get("FGPR_REQUIRE_POSTGRESQL"):
            raise
        pytest.skip(f"no PostgreSQL: {reason}")


@pytest.fixture(params=DATABASES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A new database with this program's schema, on SQLite and then on PostgreSQL."""
    if request.param == "sqlite":
        yield migrated_sqlite(tmp_path / "fgpr.db")
    else:
        server: Postgres = request.getfixturevalue("postgresql")
        with server.database() as url:
            yield url


@pytest.fixture(params=DATABASES)
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A new database with nothing in it, on SQLite and then on PostgreSQL."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'x.db'}"
    else:
        server: Postgres = request.getfixturevalue("postgresql")
        with server.database(migrated=False) as url:
            yield url

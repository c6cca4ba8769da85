"""A database after a whole run, for faults to be planted in."""

from collections.abc import Iterator

import pytest

from conftest import DATABASES
from support.databases import migrated_sqlite
from support.forged_database import Forged, forged
from support.postgres import Postgres
from support.replicas import Snapshot

Run = tuple[Forged, Snapshot]


@pytest.fixture(scope="module", params=DATABASES)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "sqlite":
        with forged(folder, migrated_sqlite(folder / "fgpr.db")) as made:
            yield made
        return
    server: Postgres = request.getfixturevalue("postgresql")
    with server.database() as url, forged(folder, url) as made:
        yield made


@pytest.fixture
def made(run: Run) -> Iterator[Forged]:
    found, snapshot = run
    now = found.aggregator.clock.now
    yield found
    found.aggregator.clock.now = now
    snapshot.restore(found.database)

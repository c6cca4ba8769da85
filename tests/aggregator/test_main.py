import warnings
from pathlib import Path

import anyio
import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from aggregator import main
from aggregator.service import operator
from aggregator.settings import Settings
from aggregator.storage import migrate
from fgpr.errors import CryptographicError, LocalProtocolError, UnknownResource
from support.aggregator import Aggregator, wait_until


def test_the_clock_is_aware() -> None:
    offset = main.now().utcoffset()
    assert offset is not None
    assert not offset


def test_a_database_without_its_schema_is_not_served(tmp_path: Path) -> None:
    settings = Settings(database=f"sqlite:///{tmp_path / 'x.db'}", keys=tmp_path / "keys")
    context = main.create_context(settings)
    context.keys.ensure_service()
    with pytest.raises(LocalProtocolError, match=r"schema none.*`fgpr-aggregator migrate --database sqlite:.*x\.db`"):
        main.create_app(settings, context)
    migrate.upgrade(context.database)
    with pytest.raises(UnknownResource, match=r"no audit log yet: run `fgpr-aggregator migrate`"):
        main.create_app(settings, context)
    operator.start_log(context)
    main.create_app(settings, context)
    with context.database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(LocalProtocolError, match="schema 9999"):
        main.create_app(settings, context)
    context.database.close()


def test_a_place_for_the_database_is_looked_at_before_it_is_opened(tmp_path: Path) -> None:
    settings = Settings(database=f"sqlite:///{tmp_path / 'nowhere' / 'x.db'}", keys=tmp_path / "keys")
    with pytest.raises(LocalProtocolError, match="no folder"):
        main.create_context(settings)


def test_without_its_service_key_nothing_is_served(tmp_path: Path) -> None:
    settings = Settings(database=f"sqlite:///{tmp_path / 'x.db'}", keys=tmp_path / "keys")
    context = main.create_context(settings)
    migrate.upgrade(context.database)
    with pytest.raises(CryptographicError, match=r"service\.pem"):
        main.create_app(settings, context)
    context.database.close()


def test_routes_are_built_before_the_first_request(aggregator: Aggregator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Building them changes the process's warning filters: two threads that do so undo each other's change."""
    changed: list[object] = []
    entered = warnings.catch_warnings.__enter__
    monkeypatch.setattr(
        warnings.catch_warnings, "__enter__", lambda filters: (changed.append(filters), entered(filters))[1]
    )
    with TestClient(aggregator.app, raise_server_exceptions=False) as client:
        del changed[:]
        assert client.get("/v1/log/checkpoint").status_code == 200
        assert client.put("/v1/federations/engines/clients/a", content=b"{}").status_code == 405
    assert not changed


def test_the_application_keeps_deadlines_while_it_lives(aggregator: Aggregator) -> None:
    aggregator.enrol(4)
    with TestClient(aggregator.app) as client:
        wait_until(lambda: aggregator.last_round() == 1)
        answer = client.get("/v1/log/checkpoint")
        assert answer.status_code == 200
        tokens = client.portal.call(lambda: anyio.to_thread.current_default_thread_limiter().total_tokens)  # type: ignore[union-attr]
        assert tokens == main.WORKING_THREADS
    aggregator.clock.forward(600)
    assert aggregator.last_round() == 1


def test_no_page_that_loads_scripts_from_elsewhere(aggregator: Aggregator) -> None:
    paths = {getattr(route, "path", "") for route in aggregator.app.routes}
    assert "/docs" not in paths
    assert "/redoc" not in paths

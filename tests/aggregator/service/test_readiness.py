from pathlib import Path

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from aggregator.service import readiness, restoring
from aggregator.service.readiness import KEPT_SECONDS, ReadinessCheck
from support.aggregator import Aggregator, together

KEYS = "keys: the service key cannot be read, or its file is not safe; the aggregator's log says more"


class Seconds:
    now = 0.0

    def __call__(self) -> float:
        self.now += KEPT_SECONDS
        return self.now


def test_ready_and_nothing_stays_behind(aggregator: Aggregator) -> None:
    before = aggregator.dump()
    check = ReadinessCheck(aggregator.context, Seconds())
    for _ in range(3):
        assert check.look().ready
    assert aggregator.dump() == before


def test_a_key_that_is_gone_or_open_to_others(aggregator: Aggregator) -> None:
    # The process read it when it started; it would not start again.
    check = ReadinessCheck(aggregator.context, Seconds())
    path = Path(aggregator.settings.keys) / "service.pem"
    with capture_logs() as logs:
        path.chmod(0o644)
        assert check.look().faults == (KEYS,)
        path.chmod(0o600)
        assert check.look().ready
        path.rename(path.with_name("away.pem"))
        for _ in range(3):
            assert check.look().faults == (KEYS,)
    # Anybody may ask; paths are for whoever reads the log, once for each change.
    assert [line["event"] for line in logs] == ["not ready", "ready again", "not ready"]
    for line in (logs[0], logs[2]):
        assert line["reason"].startswith("keys: ")
        assert str(path) in line["reason"]


def test_another_schema(aggregator: Aggregator) -> None:
    with aggregator.context.database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    (fault,) = ReadinessCheck(aggregator.context, Seconds()).look().faults
    assert fault == "schema: the database does not have this program's schema; the aggregator's log says more"


def test_a_process_that_slept_through_a_restore(aggregator: Aggregator) -> None:
    check = ReadinessCheck(aggregator.context, Seconds(), restoring.epoch(aggregator.context))
    assert check.look().ready
    restoring.begin_epoch(aggregator.context)
    assert check.look().faults == ("epoch: a backup was restored since this process started: restart it",)


def test_a_database_that_takes_no_writes(aggregator: Aggregator) -> None:
    check = ReadinessCheck(aggregator.context, Seconds())
    with aggregator.context.database.write() as connection:
        connection.execute(text("ALTER TABLE nonces RENAME TO nonces_elsewhere"))
    (fault,) = check.look().faults
    assert fault.startswith("database: the database ")
    assert "INSERT" not in fault
    assert "nonces" not in fault
    with aggregator.context.database.write() as connection:
        connection.execute(text("ALTER TABLE nonces_elsewhere RENAME TO nonces"))
    assert check.look().ready


def test_a_database_that_is_damaged(aggregator: Aggregator) -> None:
    if not aggregator.settings.database.startswith("sqlite"):
        pytest.skip("a damaged file is SQLite's")
    aggregator.context.database.close()
    aggregator.path.write_bytes(b"rubbish" * 1000)
    faults = ReadinessCheck(aggregator.context, Seconds()).look().faults
    assert [fault.partition(":")[0] for fault in faults] == ["schema", "database"]


def test_what_nobody_foresaw_is_a_fault_too(aggregator: Aggregator, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("of a client")

    monkeypatch.setattr(readiness.migrate, "check_schema", fail)
    with capture_logs() as logs:
        (fault,) = ReadinessCheck(aggregator.context, Seconds()).look().faults
    assert fault.startswith("schema: the database ")
    assert "client" not in fault
    assert [line["reason"] for line in logs] == ["schema: KeyError"]


def test_one_look_serves_all_who_ask_within_a_second(aggregator: Aggregator) -> None:
    check = ReadinessCheck(aggregator.context, lambda: 5.0)
    assert check.look().ready
    (aggregator.settings.keys / "service.pem").unlink()
    assert check.look().ready


def test_who_asks_during_a_look_gets_the_last_answer(aggregator: Aggregator) -> None:
    check = ReadinessCheck(aggregator.context, Seconds())
    assert check.look().ready
    (aggregator.settings.keys / "service.pem").unlink()
    with check._looking:
        assert check.look().ready
    assert not check.look().ready


def test_the_first_look_is_waited_for(aggregator: Aggregator) -> None:
    check = ReadinessCheck(aggregator.context)
    assert all(found.ready for found in together([check.look] * 20))  # type: ignore[attr-defined]


def test_but_not_for_ever(aggregator: Aggregator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "FIRST_SECONDS", 0.05)
    check = ReadinessCheck(aggregator.context)
    with check._looking:
        assert check.look().faults == ("the first look is under way",)

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import column, select, table, text
from sqlalchemy.exc import IntegrityError

from aggregator.storage import postgresql, sqlite
from aggregator.storage.engine import Database
from fgpr.errors import Unavailable
from support.aggregator import together

only_sqlite = pytest.mark.parametrize("empty_database_url", ["sqlite"], indirect=True)
only_postgresql = pytest.mark.parametrize("empty_database_url", ["postgresql"], indirect=True)


@pytest.fixture
def database(empty_database_url: str) -> Iterator[Database]:
    made = Database(empty_database_url)
    kind = "BLOB" if made.is_sqlite else "BYTEA"
    with made.write() as connection:
        connection.execute(text(f"CREATE TABLE counter (id INTEGER PRIMARY KEY, value INTEGER, secret {kind})"))
        connection.execute(text("INSERT INTO counter VALUES (1, 0, NULL)"))
    yield made
    made.close()


def value(database: Database) -> int:
    with database.read() as connection:
        return int(connection.execute(text("SELECT value FROM counter")).scalar_one())


def test_no_update_is_lost(database: Database) -> None:
    def add() -> None:
        for _ in range(25):
            with database.write() as connection:
                # FOR UPDATE on PostgreSQL; SQLite has nothing of the kind and needs nothing.
                now = connection.execute(select(column("value")).select_from(table("counter")).with_for_update())
                now = now.scalar_one()
                connection.execute(text("UPDATE counter SET value = :value"), {"value": now + 1})

    assert together([add] * 8) == [None] * 8
    assert value(database) == 200


@only_sqlite
@pytest.mark.parametrize(
    ("pragma", "expected"),
    [
        ("journal_mode", "wal"),
        ("synchronous", 2),
        ("foreign_keys", 1),
        ("secure_delete", 1),
        ("busy_timeout", 15_000),
    ],
)
def test_every_connection_is_set_up(database: Database, pragma: str, expected: object) -> None:
    with database.read() as one, database.read() as another:
        for connection in (one, another):
            assert connection.exec_driver_sql(f"PRAGMA {pragma}").scalar_one() == expected


def test_a_failed_transaction_leaves_nothing(database: Database) -> None:
    def fail() -> None:
        with database.write() as connection:
            connection.execute(text("UPDATE counter SET value = 7"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert value(database) == 0
    # Nothing is locked.
    with database.write() as connection:
        connection.execute(text("UPDATE counter SET value = 8"))
    assert value(database) == 8


def test_a_reader_sees_one_moment(database: Database) -> None:
    with database.read() as reader:
        assert reader.execute(text("SELECT value FROM counter")).scalar_one() == 0
        with database.write() as writer:
            writer.execute(text("UPDATE counter SET value = 5"))
        assert reader.execute(text("SELECT value FROM counter")).scalar_one() == 0
    assert value(database) == 5


@only_sqlite
def test_what_the_database_cannot_do_is_unavailable(database: Database, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="OperationalError"), database.read() as connection:
        connection.execute(text("SELECT * FROM nothing"))
    nowhere = Database(f"sqlite:///{tmp_path / 'no' / 'folder' / 'x.db'}")
    with pytest.raises(Unavailable, match="does not answer"), nowhere.read():
        pass
    locked = Database(database.url)
    with locked.read() as connection:
        connection.exec_driver_sql("PRAGMA busy_timeout=20")
    with database.write(), pytest.raises(Unavailable, match="does not answer"), locked.write():
        pass
    locked.close()


@only_sqlite
def test_a_damaged_file_is_unavailable(database: Database) -> None:
    database.close()
    Path(database.url.removeprefix("sqlite:///")).write_bytes(b"rubbish" * 1000)
    with pytest.raises(Unavailable, match="is damaged, or is none"), database.read() as connection:
        connection.execute(text("SELECT value FROM counter"))


def test_errors_have_no_values(database: Database) -> None:
    canary = b"canary of a client"
    with pytest.raises(IntegrityError) as raised, database.write() as connection:
        connection.execute(text("INSERT INTO counter VALUES (1, 0, :secret)"), {"secret": canary})
    assert "canary" not in str(raised.value)


def test_more_threads_than_connections(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 32 + 10 if database.is_sqlite else postgresql.CONNECTIONS
    monkeypatch.setattr(database.engine.pool, "_timeout", 0.05)
    held, release = threading.Semaphore(0), threading.Event()

    def hold() -> None:
        with database.read() as connection:
            connection.execute(text("SELECT 1"))
            held.release()
            release.wait(30)

    threads = [threading.Thread(target=hold, daemon=True) for _ in range(most)]
    for thread in threads:
        thread.start()
    for _ in threads:
        held.acquire()
    with pytest.raises(Unavailable, match="in use"), database.read():
        pass
    release.set()
    for thread in threads:
        thread.join()
    assert value(database) == 0


def log_of(database: Database) -> Path:
    return Path(database.url.removeprefix("sqlite:///") + "-wal")


@only_sqlite
def test_a_purge_empties_the_write_ahead_log(database: Database) -> None:
    secret = bytes(range(1, 200))
    with database.write() as connection:
        connection.execute(text("UPDATE counter SET secret = :secret"), {"secret": secret})
    with database.write() as connection:
        connection.execute(text("UPDATE counter SET secret = NULL"))
    assert secret in log_of(database).read_bytes()
    database.purge()
    assert log_of(database).read_bytes() == b""
    file = Path(database.url.removeprefix("sqlite:///"))
    assert secret not in file.read_bytes()
    # Without an erasure there is nothing to do; after one there is.
    with database.write() as connection:
        connection.execute(text("UPDATE counter SET value = 1"))
    database.purge()
    assert log_of(database).stat().st_size > 0
    database.note_erasure()
    database.purge()
    assert log_of(database).stat().st_size == 0
    assert value(database) == 1


@only_sqlite
def test_a_purge_waits_for_no_reader_and_is_made_up_for(database: Database) -> None:
    with database.read() as reader:
        reader.execute(text("SELECT 1 FROM counter"))
        with database.write() as connection:
            connection.execute(text("UPDATE counter SET value = 2"))
        database.purge()
        assert log_of(database).stat().st_size > 0
    database.purge()
    assert log_of(database).stat().st_size == 0
    with database.read() as connection:
        # The connection that purged waits as long as the others again.
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one() == 15_000


def test_a_purge_without_a_database(tmp_path: Path) -> None:
    nowhere = Database(f"sqlite:///{tmp_path / 'no' / 'folder' / 'x.db'}")
    nowhere.purge()
    with pytest.raises(sqlite3.OperationalError):
        sqlite3.connect(tmp_path / "no" / "folder" / "x.db")


@only_sqlite
def test_a_purge_that_readers_keep_out_for_long_is_told(database: Database) -> None:
    with database.read() as reader:
        reader.execute(text("SELECT 1 FROM counter"))
        with database.write() as connection:
            connection.execute(text("UPDATE counter SET value = 2"))
        for _ in range(5):
            database.purge()
        with pytest.raises(Unavailable, match="readers are in the way"):
            database.purge()
    database.purge()
    assert log_of(database).stat().st_size == 0


@only_sqlite
def test_writers_of_one_process_do_not_poll(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "WAIT_MS", 10)
    with database.write(), ThreadPoolExecutor(1) as pool:

        def write() -> None:
            with database.write():
                pass

        with pytest.raises(Unavailable, match="being written to"):
            pool.submit(write).result()
    write()


@only_postgresql
def test_every_connection_has_limits(database: Database) -> None:
    for connect in (database.read, database.write):
        with connect() as connection:
            shown = {
                name: connection.execute(text(f"SHOW {name}")).scalar_one()
                for name in ("lock_timeout", "idle_in_transaction_session_timeout")
            }
            assert shown == {"lock_timeout": "15s", "idle_in_transaction_session_timeout": "30s"}


@only_postgresql
def test_a_lock_that_is_not_given_up_is_unavailable(database: Database) -> None:
    def lock() -> None:
        with database.write() as connection:
            connection.execute(text("SET LOCAL lock_timeout = 20"))
            connection.execute(text("SELECT value FROM counter FOR UPDATE"))

    with database.write() as holder:
        holder.execute(text("SELECT value FROM counter FOR UPDATE"))
        with pytest.raises(Unavailable, match="LockNotAvailable"):
            lock()
    lock()


@only_postgresql
def test_a_process_that_was_paused_in_a_transaction_loses_it_and_the_others_go_on(database: Database) -> None:
    paused = Database(database.url)

    def sleep_and_wake() -> None:
        with paused.write() as sleeper:
            sleeper.execute(text("UPDATE counter SET value = 7"))
            sleeper.execute(text("SET LOCAL idle_in_transaction_session_timeout = 20"))
            # It says nothing for longer than that; here the other one gets the row that it held.
            with database.write() as connection:
                connection.execute(text("UPDATE counter SET value = value + 1"))
            sleeper.execute(text("UPDATE counter SET value = 8"))

    with pytest.raises(Unavailable, match=r"does not answer|is damaged"):
        sleep_and_wake()
    assert value(database) == 1
    with paused.write() as connection:
        # The pool does not hand the dead connection out again.
        connection.execute(text("UPDATE counter SET value = 9"))
    paused.close()
    assert value(database) == 9


@only_postgresql
def test_a_server_that_is_away_is_unavailable(database: Database) -> None:
    with database.write() as connection:
        pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
    nowhere = Database(database.url.replace("host=", "host=/nowhere"))
    with pytest.raises(Unavailable, match="does not answer"), nowhere.read():
        pass
    nowhere.purge()
    # A connection that the server ended meanwhile is made anew before it is used.
    other = Database(database.url)
    with other.write() as connection:
        connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
    other.close()
    assert value(database) == 0


def test_what_is_shown_of_a_database_holds_no_password() -> None:
    for url, shown in (
        (
            "postgresql+psycopg://fgpr:hunter2@db:5432/x?sslmode=require",
            "postgresql+psycopg://fgpr@db:5432/x?sslmode=require",
        ),
        ("postgresql+psycopg://db/x?password=hunter2", "postgresql+psycopg://db/x"),
        ("sqlite:////var/lib/a b.db", "sqlite:////var/lib/a b.db"),
    ):
        assert Database(url).shown == shown

"""Every kind of tampering with the database is found with one checkpoint that was kept outside."""

import random
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator.service.inspection import Anchors, verify_database
from aggregator.storage.engine import Database
from fgpr import signatures
from fgpr.errors import FgprError, VerificationError
from support.aggregator import Aggregator, served
from support.client import NAME
from support.party import Party

CHECKED = {
    "log_leaves": ("index", "leaf"),
    "log_nodes": ("level", "index", "hash"),
    "log_head": ("id", "size", "frontier", "note"),
    "rosters": ("federation", "version", "document"),
    "priors": ("federation", "version", "document", "leaf"),
    "rounds": ("federation", "number", "plan", "cohort", "empty_cohort"),
    "federations": ("name", "settings", "roster_key", "state"),
    "clients": ("federation", "client", "role", "identity_key", "revoked_at", "declared"),
}


class Vault:
    """A database after a whole run, with what was kept of it outside."""

    def __init__(self, path: Path, anchors: Anchors, early: Anchors) -> None:
        self.path, self.anchors, self.early = path, anchors, early
        self.database = Database(f"sqlite:///{path}")
        self.sql = sqlite3.connect(path, isolation_level=None)

    def verify(self, anchors: Anchors | None = None) -> None:
        verify_database(self.database, anchors or self.anchors)

    def check_found(self, what: str) -> None:
        """The only thing that may come out is an error of ours."""
        try:
            self.verify()
        except FgprError:
            return
        except Exception as error:
            pytest.fail(f"{what}: {type(error).__name__} instead of an FgprError: {error}")
        pytest.fail(f"{what}: not found")

    def rows(self, table: str) -> list[int]:
        return [row for (row,) in self.sql.execute(f"SELECT rowid FROM {table} ORDER BY rowid")]  # noqa: S608

    def value(self, table: str, column: str, row: int) -> object:
        query = f'SELECT "{column}" FROM {table} WHERE rowid = ?'  # noqa: S608
        return self.sql.execute(query, (row,)).fetchone()[0]

    def write(self, table: str, column: str, row: int, value: object) -> None:
        self.sql.execute(f'UPDATE {table} SET "{column}" = ? WHERE rowid = ?', (value, row))  # noqa: S608


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Anchors, Anchors]:
    folder = tmp_path_factory.mktemp("run")
    with served(folder, keeps_deadlines=False) as aggregator:
        early = play(aggregator)
        anchors = aggregator.anchors()
        aggregator.context.database.note_erasure()
        aggregator.context.database.purge()
        return Path(shutil.copy(aggregator.path, folder / "kept.db")), anchors, early


def play(aggregator: Aggregator) -> Anchors:
    """Rounds with every ending; what somebody kept half-way."""
    parties = aggregator.enrol(4)
    aggregator.party("reader", "reader").enrol()
    aggregator.advance()

    def all_do(act: str, who: list[Party]) -> None:
        for party in who:
            getattr(party, act)()

    all_do("contribute", parties)
    all_do("open", parties)
    early = aggregator.anchors()
    all_do("contribute", parties)
    aggregator.pass_contributing()
    aggregator.pass_opening()
    for party in parties:
        party.open_nothing(2)
    all_do("contribute", parties)
    aggregator.pass_contributing()
    aggregator.pass_opening()
    aggregator.pass_opening()
    all_do("contribute", parties)
    all_do("open", parties)
    parties[3].api.delete("clients/client-03")
    aggregator.enrol(1, first=4)
    aggregator.pass_contributing()
    return early


@pytest.fixture
def vault(template: tuple[Path, Anchors, Anchors], tmp_path: Path) -> Iterator[Vault]:
    path, anchors, early = template
    made = Vault(Path(shutil.copy(path, tmp_path / "fgpr.db")), anchors, early)
    yield made
    made.sql.close()
    made.database.close()


def test_an_honest_database_passes(vault: Vault) -> None:
    trail = verify_database(vault.database, vault.anchors)
    assert trail.leaves == len(vault.rows("log_leaves"))
    assert [version for _, version in trail.priors] == [0, 1, 2, 3]
    assert [number for _, number in trail.plans] == [1, 2, 3, 4, 5, 6]
    assert [version for _, version in trail.rosters] == [1, 2]
    assert set(trail.revoked) == {(NAME, "client-03")}
    # Also with a checkpoint that was kept long ago.
    assert verify_database(vault.database, vault.early).leaves == trail.leaves


def changed(value: object, rng: random.Random) -> object:
    """One byte, digit or character of a stored value changed."""
    match value:
        case None:
            return b"{}"
        case bytes() if value:
            raw = bytearray(value)
            raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
            return bytes(raw)
        case bytes():
            return b"\0"
        case int():
            return value + rng.choice((-1, 1, 1000))
        case str():
            place = rng.randrange(len(value))
            return value[:place] + chr(ord(value[place]) ^ 1) + value[place + 1 :]
    raise AssertionError(value)


@pytest.mark.parametrize(
    ("table", "column"), [(table, column) for table, columns in CHECKED.items() for column in columns]
)
def test_a_change_of_any_value_is_found(vault: Vault, table: str, column: str) -> None:
    rng = random.Random(f"{table}.{column}")
    rows = vault.rows(table)
    assert rows
    if len(rows) > 10:
        # Long tables: ends and a sample here, more leaves in the test below.
        rows = sorted({rows[0], rows[-1], *rng.sample(rows, min(6, len(rows)))})
    vault.sql.execute("PRAGMA foreign_keys=OFF")
    for row in rows:
        old = vault.value(table, column, row)
        if column == "revoked_at":
            new: object = None if old else "2031-03-09 12:00:00.000000"
        else:
            new = changed(old, rng)
        if column in ("id", "index", "level", "version", "number"):
            # A number that no other row has, so that the primary key does not forbid the change itself.
            new = int(old) + 1_000_000  # type: ignore[call-overload]
            vault.sql.execute(f'UPDATE {table} SET "{column}" = ? WHERE rowid = ?', (new, row))  # noqa: S608
            where = f'"{column}" = {new}'
            vault.check_found(f"{table}.{column} of row {row}")
            vault.sql.execute(f'UPDATE {table} SET "{column}" = ? WHERE {where}', (old,))  # noqa: S608
            continue
        vault.write(table, column, row, new)
        vault.check_found(f"{table}.{column} of row {row}")
        vault.write(table, column, row, old)
    vault.verify()


def test_a_change_of_many_a_leaf_is_found(vault: Vault) -> None:
    rng = random.Random(1)
    for row in vault.rows("log_leaves")[::3]:
        old = vault.value("log_leaves", "leaf", row)
        vault.write("log_leaves", "leaf", row, changed(old, rng))
        vault.check_found(f"leaf {row}")
        vault.write("log_leaves", "leaf", row, old)


@pytest.mark.parametrize("value", [None, b"", 7, 1.5, "text", "\x00", -1, 2**62], ids=repr)
@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("log_leaves", "leaf"),
        ("log_nodes", "hash"),
        ("log_head", "size"),
        ("log_head", "frontier"),
        ("log_head", "note"),
        ("rosters", "document"),
        ("priors", "document"),
        ("priors", "leaf"),
        ("rounds", "plan"),
        ("rounds", "cohort"),
        ("federations", "settings"),
        ("federations", "roster_key"),
        ("clients", "identity_key"),
    ],
)
def test_a_value_of_another_kind_is_found(vault: Vault, table: str, column: str, value: object) -> None:
    vault.sql.execute("PRAGMA ignore_check_constraints=ON")
    row = vault.rows(table)[0]
    if vault.value(table, column, row) == value:
        return
    try:
        vault.write(table, column, row, value)
    except sqlite3.IntegrityError:
        # NOT NULL: the database itself refuses.
        assert value is None
        return
    vault.check_found(f"{table}.{column} = {value!r}")


@pytest.mark.parametrize("table", CHECKED)
def test_a_row_that_is_gone_is_found(vault: Vault, table: str) -> None:
    vault.sql.execute("PRAGMA foreign_keys=OFF")
    rows = vault.rows(table)
    row = random.Random(table).choice(rows)
    vault.sql.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))  # noqa: S608
    vault.check_found(f"{table} without row {row}")


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("log_leaves", "index", 10_000),
        ("log_leaves", "index", -1),
        ("log_nodes", "index", 10_000),
        ("log_nodes", "level", 60),
        ("log_head", "id", 2),
        ("rosters", "version", 99),
        ("priors", "version", 99),
        ("rounds", "number", 99),
        ("federations", "name", "another"),
        ("clients", "client", "sybil"),
    ],
)
def test_a_row_more_is_found(vault: Vault, table: str, column: str, value: object) -> None:
    columns = [row[1] for row in vault.sql.execute(f"PRAGMA table_info({table})")]
    copied = ", ".join("?" if name == column else f'"{name}"' for name in columns)
    if table == "clients":
        copied = copied.replace('"key_id"', "'another'")
    row = vault.rows(table)[-1]
    vault.sql.execute(f"INSERT INTO {table} SELECT {copied} FROM {table} WHERE rowid = ?", (value, row))  # noqa: S608
    vault.check_found(f"{table} with one more row")


@pytest.mark.parametrize("keep", [0, 1, 12, -1])
def test_a_log_cut_short_is_found(vault: Vault, keep: int) -> None:
    size = keep if keep >= 0 else len(vault.rows("log_leaves")) - 1
    vault.sql.execute('DELETE FROM log_leaves WHERE "index" >= ?', (size,))
    vault.check_found(f"the first {size} leaves")
    vault.sql.execute("UPDATE log_head SET size = ?", (size,))
    vault.check_found(f"the first {size} leaves with a head of that size")


def test_a_whole_older_backup_is_found(tmp_path: Path) -> None:
    # Consistent in itself: only whoever kept a newer checkpoint sees that the log went back.
    with served(tmp_path, keeps_deadlines=False) as aggregator:
        aggregator.enrol(4)
        aggregator.advance()
        backup = Path(shutil.copy(aggregator.path, tmp_path / "backup.db"))
        shutil.copy(f"{aggregator.path}-wal", f"{backup}-wal")
        old = aggregator.anchors()
        aggregator.pass_contributing()
        database = Database(f"sqlite:///{backup}")
        verify_database(database, old)
        with pytest.raises(VerificationError, match="the checkpoint counts"):
            verify_database(database, aggregator.anchors())
        database.close()


def test_other_anchors(vault: Vault) -> None:
    other = signatures.public_bytes(Ed25519PrivateKey.generate())
    for wrong in (
        replace(vault.anchors, service_key=other),
        replace(vault.anchors, roster_keys={NAME: other}),
        replace(vault.anchors, note=vault.anchors.note.replace("\n", "\n\n", 1)),
        replace(vault.anchors, note=""),
    ):
        with pytest.raises(FgprError):
            vault.verify(wrong)
    # Of a federation whose roster key is not known from elsewhere the log names it.
    vault.verify(replace(vault.anchors, roster_keys={}))

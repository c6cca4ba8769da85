"""What is read where no table leads: whole files in pieces, with nothing lost between two of them."""

import subprocess
import sys
from pathlib import Path

import pytest

from aggregator.storage import remains
from aggregator.storage.engine import Database
from support.databases import migrated_sqlite

OTHERS = """
import sys
from pathlib import Path
from aggregator.storage import sqlite
print(sqlite.others_work(Path(sys.argv[1])))
"""


@pytest.mark.parametrize("at", [0, 5, 63, 64, 100])
def test_what_lies_across_two_pieces_is_in_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    monkeypatch.setattr(remains, "PIECE", 64)
    monkeypatch.setattr(remains, "OVERLAP", 16)
    path = tmp_path / "fgpr.db"
    path.write_bytes(bytes(at) + b"sixteen bytes 16" + bytes(40))
    database = Database(f"sqlite:///{path}")
    (place,) = remains.places(database)
    assert place.pieces is not None
    pieces = list(place.pieces)
    assert any(b"sixteen bytes 16" in piece for piece in pieces)
    assert max(map(len, pieces)) <= 64 + 16
    database.close()


def test_files_in_the_order_in_which_values_move(tmp_path: Path) -> None:
    database = Database(migrated_sqlite(tmp_path / "fgpr.db"))
    with database.read() as connection:
        assert connection is not None
        assert [place.name for place in remains.places(database)] == ["fgpr.db-wal", "fgpr.db"]
    database.close()


def test_looking_keeps_the_locks(tmp_path: Path) -> None:
    path = tmp_path / "fgpr.db"
    database = Database(migrated_sqlite(path))
    with database.read():
        pass
    for place in remains.places(database):
        assert b"".join(place.pieces or ())[:6] in (b"", b"SQLite")
    told = subprocess.run(
        [sys.executable, "-c", OTHERS, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    assert told.stdout.strip() == "True"
    database.close()

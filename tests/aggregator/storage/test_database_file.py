import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aggregator.storage import database_file
from aggregator.storage.engine import Database
from fgpr.errors import LocalProtocolError

MOUNTS = """\
22 1 0:21 / / rw,relatime - overlay overlay rw,lowerdir=/l
35 22 8:1 /volumes/db/_data /var/lib/fgpr/database rw,relatime shared:1 - ext4 /dev/sda1 rw
36 22 8:1 /home/me/fgpr.db /data/fgpr.db rw,relatime - ext4 /dev/sda1 rw
37 22 8:1 /home/me/x.db /data/of\\040mine/\\134x.db rw - ext4 /dev/sda1 rw

half a line
"""
"""As proc(5) describes it: blanks and backslashes of a place are in octal."""


@pytest.mark.parametrize(
    ("path", "alone"),
    [
        ("/data/fgpr.db", True),
        ("/data/of mine/\\x.db", True),
        ("/data/fgpr.db2", False),
        ("/home/me/fgpr.db", False),
        ("/var/lib/fgpr/database/fgpr.db", False),
    ],
)
def test_where_a_file_is_mounted_by_itself(path: str, alone: bool) -> None:
    assert database_file.is_mounted_alone(Path(path), MOUNTS) is alone


def test_a_file_that_is_mounted_alone_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, mounts = tmp_path / "x.db", tmp_path / "mountinfo"
    file.touch()
    monkeypatch.setattr(database_file, "MOUNTS", mounts)
    database_file.check(f"sqlite:///{file}")
    mounts.write_text(f"36 22 8:1 /x {file} rw - ext4 /dev/sda1 rw\n", encoding="utf-8")
    with pytest.raises(LocalProtocolError, match=r"mounted alone: mount its folder.*x\.db-wal"):
        database_file.check(f"sqlite:///{file}")
    database_file.check(f"sqlite:///{tmp_path / 'y.db'}")


def test_a_place_that_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in ("missing", "file"):
        with pytest.raises(LocalProtocolError, match=f"no folder {tmp_path / place} .* uid {os.geteuid()}"):
            database_file.check(f"sqlite:///{tmp_path / place / 'x.db'}")


def room(blocks: int, free: int, flag: int = 0) -> object:
    return SimpleNamespace(f_blocks=blocks, f_bavail=free, f_frsize=4096, f_flag=flag)


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    for free, holds in ((256, True), (255, False), (0, False)):
        monkeypatch.setattr(os, "statvfs", lambda _, free=free: room(1000, free))
        if holds:
            database_file.check(url)
            continue
        with pytest.raises(LocalProtocolError, match=f"the disk of {tmp_path} is full"):
            database_file.check(url)
    monkeypatch.setattr(os, "statvfs", lambda _: room(0, 0))
    database_file.check(url)


@pytest.mark.parametrize("refused", ["", "x.db", "x.db-wal", "x.db-shm"])
@pytest.mark.parametrize("read_only", [False, True])
def test_what_is_not_this_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str, read_only: bool) -> None:
    for name in ("x.db", "x.db-wal", "x.db-shm"):
        (tmp_path / name).touch(mode=0o640)
    place = tmp_path / refused if refused else tmp_path
    monkeypatch.setattr(os, "access", lambda path, *_, **__: Path(path) != place)
    monkeypatch.setattr(os, "statvfs", lambda _: room(1000, 1000, os.ST_RDONLY if read_only else 0))
    with pytest.raises(LocalProtocolError) as caught:
        database_file.check(f"sqlite:///{tmp_path / 'x.db'}")
    told, user = str(caught.value), os.geteuid()
    assert f"uid {user} has to" in told
    assert str(place) in told
    if read_only:
        assert "read-only" in told
    else:
        assert f"belongs to uid {user} and has mode {'0640' if refused else '0700'}" in told
        assert told.endswith(f"chown -R {user} {tmp_path}")


def test_links_are_followed_to_the_file_and_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "volume").mkdir()
    (tmp_path / "volume" / "x.db-wal").touch()
    (tmp_path / "link.db").symlink_to(tmp_path / "volume" / "x.db")
    url = f"sqlite:///{tmp_path / 'link.db'}"
    database_file.check(url)
    for refused in ("volume", "volume/x.db-wal"):
        monkeypatch.setattr(os, "access", lambda path, *_, refused=refused, **__: Path(path) != tmp_path / refused)
        with pytest.raises(LocalProtocolError, match=f"{tmp_path / refused}"):
            database_file.check(url)


def test_links_that_lead_back_to_themselves(tmp_path: Path) -> None:
    (tmp_path / "x.db").symlink_to("y.db")
    (tmp_path / "y.db").symlink_to("x.db")
    (tmp_path / "z.db").symlink_to("z.db")
    (tmp_path / "folder").symlink_to("folder")
    for name in ("x.db", "z.db", "folder/x.db"):
        with pytest.raises(LocalProtocolError, match=f"links of {tmp_path / name} lead back to themselves"):
            database_file.check(f"sqlite:///{tmp_path / name}")


def test_dots_are_taken_out_before_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b" / "c").mkdir(parents=True)
    (tmp_path / "a" / "link").symlink_to(tmp_path / "b" / "c")
    given = tmp_path / "a" / "link" / ".." / "x.db"
    database = Database(f"sqlite:///{given}")
    try:
        with database.write() as connection:
            connection.exec_driver_sql("CREATE TABLE one (two INTEGER)")
        assert database.file == database_file.behind(given) == tmp_path / "a" / "x.db"
        assert database.file.exists()
    finally:
        database.close()


def test_a_folder_that_this_user_may_not_look_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o700)
    lstat, access = os.lstat, os.access

    def looked(path: Path, **options: Any) -> os.stat_result:
        if Path(path).parent == folder:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return lstat(path, **options)

    monkeypatch.setattr(os, "lstat", looked)
    monkeypatch.setattr(os, "access", lambda path, mode, **_: Path(path) != folder and access(path, mode))
    with pytest.raises(LocalProtocolError, match=f"has to read and write in {folder}, which belongs to uid"):
        database_file.check(f"sqlite:///{folder / 'x.db'}")


def test_a_server_has_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    database_file.check("postgresql+psycopg://fgpr@db/fgpr")


def test_a_folder_above_that_lets_nobody_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    above = tmp_path / "volume"
    folder = above / "database"
    folder.mkdir(parents=True)
    access = os.access

    def refused(path: Path, mode: int, *, effective_ids: bool = False) -> bool:
        return path != above and access(path, mode, effective_ids=effective_ids)

    monkeypatch.setattr(database_file.os, "access", refused)
    with pytest.raises(LocalProtocolError, match=f"does not get through {above} to {folder}: it belongs to uid"):
        database_file.check(f"sqlite:///{folder / 'fgpr.db'}")

import os
import stat
from pathlib import Path

import pytest

from client_agent import keyfile
from fgpr.errors import CryptographicError

SECRET = b"canary-5e1f"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    keyfile.make_folder(folder)
    return folder / "key.pem"


def test_a_secret_is_read_back_and_only_its_owner_can(path: Path) -> None:
    old = os.umask(0)
    try:
        keyfile.write(path, SECRET)
    finally:
        os.umask(old)
    assert keyfile.read(path) == SECRET
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [file.name for file in path.parent.iterdir()] == ["key.pem"]


def test_parents_are_made_and_a_folder_may_exist(tmp_path: Path) -> None:
    keyfile.make_folder(tmp_path / "a" / "b")
    keyfile.make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


def test_a_folder_that_is_there_is_looked_at(tmp_path: Path) -> None:
    keyfile.make_folder(tmp_path / "home")
    (tmp_path / "home").chmod(0o770)
    with pytest.raises(CryptographicError, match="chmod 700"):
        keyfile.make_folder(tmp_path / "home")


def test_a_file_in_the_way_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        # Rights of a file say nothing of a folder.
        with pytest.raises(CryptographicError, match=r"no folder|cannot look"):
            keyfile.make_folder(folder)


@pytest.mark.parametrize("kind", ["file", "symlink", "dangling", "folder"])
def test_nothing_is_ever_overwritten(path: Path, kind: str) -> None:
    target = path.with_name("target")
    if kind == "file":
        path.write_bytes(b"old")
    elif kind == "folder":
        path.mkdir()
    else:
        if kind == "symlink":
            target.write_bytes(b"old")
        path.symlink_to(target)
    before = sorted(path.parent.iterdir())
    with pytest.raises(CryptographicError, match="exists already"):
        keyfile.write(path, SECRET)
    assert sorted(path.parent.iterdir()) == before
    assert not any(SECRET in file.read_bytes() for file in path.parent.iterdir() if file.is_file())


@pytest.mark.parametrize("call", ["fsync", "link"])
def test_a_crash_leaves_no_part_of_a_file(path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(CryptographicError, match="No space left on device"):
        keyfile.write(path, SECRET)
    assert list(path.parent.iterdir()) == []


def test_file_and_folder_are_on_disk_before_write_returns(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    fsync, link = os.fsync, os.link

    def synced(descriptor: int) -> None:
        order.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def linked(source: Path, target: Path) -> None:
        order.append("link")
        link(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "link", linked)
    keyfile.write(path, SECRET)
    assert order == ["file", "link", "folder"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o666, 0o444])
def test_a_file_that_others_can_touch_is_refused(path: Path, mode: int) -> None:
    keyfile.write(path, SECRET)
    path.chmod(mode)
    with pytest.raises(CryptographicError, match=f"has mode {mode:04o}.*chmod 600 {path}"):
        keyfile.read(path)


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_file_of_the_owner_alone_is_read(path: Path, mode: int) -> None:
    keyfile.write(path, SECRET)
    path.chmod(mode)
    assert keyfile.read(path) == SECRET


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o720])
def test_a_folder_in_which_others_write_is_refused(path: Path, mode: int) -> None:
    keyfile.write(path, SECRET)
    path.parent.chmod(mode)
    with pytest.raises(CryptographicError, match=r"others can swap its files\. chmod 700"):
        keyfile.read(path)
    with pytest.raises(CryptographicError, match="chmod 700"):
        keyfile.write(path.with_name("other.pem"), SECRET)


def test_another_owner_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keyfile.write(path, SECRET)
    owner = path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(CryptographicError, match=f"belongs to uid {owner}, this process runs as {owner + 1}: chown"):
        keyfile.read(path)


def test_what_is_no_file_of_its_own_is_refused(path: Path) -> None:
    keyfile.write(path, SECRET)
    link = path.with_name("link.pem")
    link.symlink_to(path)
    with pytest.raises(CryptographicError, match="symbolic link"):
        keyfile.read(link)
    os.mkfifo(path.with_name("fifo"))
    with pytest.raises(CryptographicError, match="no regular file"):
        keyfile.read(path.with_name("fifo"))
    with pytest.raises(CryptographicError, match="no regular file"):
        keyfile.read(path.parent)
    with pytest.raises(CryptographicError, match=r"there is no key at .*enrol first"):
        keyfile.read(path.with_name("absent"))


def test_a_huge_file_is_no_key(path: Path) -> None:
    keyfile.write(path, bytes(4097))
    with pytest.raises(CryptographicError, match="more than 4096 bytes"):
        keyfile.read(path)

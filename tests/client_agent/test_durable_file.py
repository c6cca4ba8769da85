"""Files of the agent's home are on the disk before they have their names, or are not there."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from client_agent import durable_file

WAYS = [durable_file.write_once, durable_file.replace]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What was synchronised, by its name, and which names were given, in order."""
    done: list[tuple[str, str]] = []
    fsync, link, rename = os.fsync, os.link, Path.replace

    def synchronised(descriptor: int) -> None:
        fsync(descriptor)
        done.append(("fsync", Path(f"/proc/self/fd/{descriptor}").readlink().name))

    def linked(source: Path, target: Path) -> None:
        link(source, target)
        done.append(("name", target.name))

    def renamed(source: Path, target: Path) -> Path:
        done.append(("name", target.name))
        return rename(source, target)

    monkeypatch.setattr(os, "fsync", synchronised)
    monkeypatch.setattr(os, "link", linked)
    monkeypatch.setattr(Path, "replace", renamed)
    return done


@pytest.mark.parametrize("write", WAYS)
def test_bytes_are_on_the_disk_before_they_have_their_name_and_the_name_is_when_the_call_returns(
    tmp_path: Path, calls: list[tuple[str, str]], write: Callable[[Path, bytes], None]
) -> None:
    write(tmp_path / "theta", b"one")
    draft = f".theta.{os.getpid()}"
    assert calls == [("fsync", draft), ("name", "theta"), ("fsync", tmp_path.name)]
    assert [file.name for file in tmp_path.iterdir()] == ["theta"]


@pytest.mark.parametrize("write", WAYS)
def test_what_could_not_be_synchronised_has_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path, bytes], None]
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path / "theta", b"one")
    assert list(tmp_path.iterdir()) == []

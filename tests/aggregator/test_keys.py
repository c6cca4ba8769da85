import os
import stat
from functools import partial
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator import main
from aggregator.keys import CHECKPOINT, KeyDirectory
from aggregator.settings import Settings
from fgpr import signatures
from fgpr.errors import CryptographicError
from fgpr.private_keys import to_pem
from support.aggregator import together
from support.databases import migrated_sqlite


def public(key: object) -> bytes:
    assert isinstance(key, Ed25519PrivateKey)
    return signatures.public_bytes(key)


def test_keys_are_made_once_and_stay(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "keys"
    keys = KeyDirectory(folder)
    service, roster, other = keys.ensure_service(), keys.ensure_roster("engines"), keys.ensure_roster("benches")
    assert len({public(service), public(roster), public(other)}) == 3
    again = KeyDirectory(folder)
    assert public(again.ensure_service()) == public(again.service()) == public(service)
    assert public(again.ensure_roster("engines")) == public(again.roster("engines")) == public(roster)
    assert sorted(path.name for path in folder.iterdir()) == [
        "roster-benches.pem",
        "roster-engines.pem",
        "service.pem",
    ]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert path.read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----\n")


def test_processes_that_start_at_once_agree_on_one_key(tmp_path: Path) -> None:
    keys = [KeyDirectory(tmp_path / "keys") for _ in range(16)]
    made = together([directory.ensure_service for directory in keys])
    assert len({public(key) for key in made}) == 1
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["service.pem"]


def test_a_missing_key_is_not_made_in_passing(tmp_path: Path) -> None:
    keys = KeyDirectory(tmp_path / "keys")
    with pytest.raises(CryptographicError, match="fgpr-aggregator migrate"):
        keys.service()
    with pytest.raises(CryptographicError, match=r"copy roster-engines\.pem from the replica"):
        keys.roster("engines")
    assert list((tmp_path / "keys").iterdir()) == []


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o777])
def test_a_key_that_others_can_touch(tmp_path: Path, mode: int) -> None:
    KeyDirectory(tmp_path / "keys").ensure_service()
    (tmp_path / "keys" / "service.pem").chmod(mode)
    with pytest.raises(CryptographicError, match="chmod 600"):
        KeyDirectory(tmp_path / "keys").service()
    with pytest.raises(CryptographicError, match="chmod 600"):
        KeyDirectory(tmp_path / "keys").ensure_service()


def test_a_folder_that_others_can_write_in(tmp_path: Path) -> None:
    KeyDirectory(tmp_path / "keys")
    (tmp_path / "keys").chmod(0o770)
    with pytest.raises(CryptographicError, match="chmod 700"):
        KeyDirectory(tmp_path / "keys")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_key_of_another_user(tmp_path: Path) -> None:
    KeyDirectory(tmp_path / "keys").ensure_service()
    os.chown(tmp_path / "keys" / "service.pem", 65534, 65534)
    with pytest.raises(CryptographicError, match="belongs to uid 65534"):
        KeyDirectory(tmp_path / "keys").service()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    keys = KeyDirectory(tmp_path / "keys")
    elsewhere = tmp_path / "elsewhere.pem"
    elsewhere.write_bytes(to_pem(Ed25519PrivateKey.generate()))
    elsewhere.chmod(0o600)
    (tmp_path / "keys" / "service.pem").symlink_to(elsewhere)
    with pytest.raises(CryptographicError, match="cannot read"):
        keys.service()


def test_a_key_that_another_process_made_first_stays(tmp_path: Path) -> None:
    keys = KeyDirectory(tmp_path / "keys")
    path = tmp_path / "keys" / "service.pem"
    keys.ensure_service()
    first = path.read_bytes()
    # What a process does that looked before there was one.
    keys._create(path.name)
    assert path.read_bytes() == first


def test_what_is_no_key_is_kept_and_refused(tmp_path: Path) -> None:
    keys = KeyDirectory(tmp_path / "keys")
    path = tmp_path / "keys" / "service.pem"
    path.write_bytes(b"half a k")
    path.chmod(0o600)
    with pytest.raises(CryptographicError, match="restore it from a backup") as raised:
        keys.ensure_service()
    assert "half" not in str(raised.value)
    assert path.read_bytes() == b"half a k"
    path.unlink()
    path.mkdir()
    with pytest.raises(CryptographicError):
        keys.service()


def test_a_place_that_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("")
    with pytest.raises(CryptographicError, match="cannot use"):
        KeyDirectory(tmp_path / "keys")
    with pytest.raises(CryptographicError, match="cannot use"):
        KeyDirectory(tmp_path / "keys" / "below")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    keys = KeyDirectory(tmp_path / "keys")
    os.mkfifo(tmp_path / "keys" / "service.pem", 0o600)
    with pytest.raises(CryptographicError, match="no regular file"):
        keys.service()


def test_nothing_is_served_with_a_key_that_others_can_touch(tmp_path: Path) -> None:
    settings = Settings(database=migrated_sqlite(tmp_path / "x.db"), keys=tmp_path / "keys")
    KeyDirectory(settings.keys).ensure_service()
    (settings.keys / "service.pem").chmod(0o640)
    context = main.create_context(settings)
    with pytest.raises(CryptographicError, match="chmod 600"):
        main.create_app(settings, context)
    context.database.close()


def test_a_key_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    KeyDirectory(tmp_path / "keys").ensure_service()
    assert order == ["file", "link", "folder"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_checkpoint_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    keys = KeyDirectory(tmp_path / "keys")
    keys.remember("the first one")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, fail)
        with pytest.raises(CryptographicError, match="No space left on device"):
            keys.remember("the second one")
    assert keys.remembered() == "the first one"
    assert [path.name for path in (tmp_path / "keys").iterdir()] == [CHECKPOINT]


def test_an_older_checkpoint_takes_no_newer_one_s_place(tmp_path: Path) -> None:
    keys = KeyDirectory(tmp_path / "keys")
    notes = [f"fgpr-log/x\n{size}\nroot\n\n\u2014 x y\n" for size in range(40)]
    together([partial(KeyDirectory(tmp_path / "keys").remember, note) for note in notes])
    assert keys.remembered() == notes[39]
    keys.remember(notes[9])
    assert keys.remembered() == notes[39]
    keys.remember(notes[9], shorter=True)
    assert keys.remembered() == notes[9]
    assert [path.name for path in (tmp_path / "keys").iterdir()] == [CHECKPOINT]


def test_nothing_is_served_without_the_passphrase(tmp_path: Path) -> None:
    named, other = tmp_path / "passphrase", tmp_path / "other"
    named.write_text("correct horse battery\n")
    other.write_text("another one of that length\n")

    def settings(file: Path | None) -> Settings:
        return Settings(database=f"sqlite:///{tmp_path / 'x.db'}", keys=tmp_path / "keys", key_passphrase_file=file)

    migrated_sqlite(tmp_path / "x.db")
    keys = KeyDirectory(tmp_path / "keys", settings(named).key_passphrase)
    made = keys.ensure_service()
    assert (tmp_path / "keys" / "service.pem").read_bytes().startswith(b"-----BEGIN ENCRYPTED PRIVATE KEY-----")
    context = main.create_context(settings(named))
    assert public(context.keys.service()) == public(made)
    context.database.close()
    for file in (None, other):
        context = main.create_context(settings(file))
        with pytest.raises(CryptographicError, match=r"service\.pem holds no"):
            main.create_app(settings(file), context)
        context.database.close()
    # A key that was swapped in by somebody who does not know the passphrase.
    (tmp_path / "keys" / "service.pem").write_bytes(to_pem(Ed25519PrivateKey.generate()))
    context = main.create_context(settings(named))
    with pytest.raises(CryptographicError, match=r"service\.pem holds no"):
        main.create_app(settings(named), context)
    context.database.close()
    for content, reason in ((b"short\n", "at least"), (None, "cannot read the keys' passphrase")):
        named.unlink()
        if content is not None:
            named.write_bytes(content)
        with pytest.raises(CryptographicError, match=reason):
            main.create_context(settings(named))

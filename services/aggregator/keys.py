"""The aggregator's private keys: PKCS8 files of mode 0600 in one folder, never in the database.

`service.pem` signs plans, cohorts, priors and checkpoints; `roster-FEDERATION.pem` signs the rosters of a federation.
What a key file must look like is said once for both services in `fgpr.private_keys`.
"""

import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr import private_keys
from fgpr.errors import CryptographicError

CHECKPOINT = "checkpoint.note"
"""The newest checkpoint that was signed with these keys, as far as this process got round to keeping it."""

SERVICE = "service.pem"

_SIZE = re.compile(r"[0-9]{1,16}", re.ASCII)


def size_of(note: str) -> int:
    """Leaves that a checkpoint says its log has, whoever signed it; -1 of what is no checkpoint."""
    _, _, rest = note.partition("\n")
    size, _, _ = rest.partition("\n")
    return int(size) if _SIZE.fullmatch(size) else -1


def _advice(name: str) -> str:
    if name == SERVICE:
        return "`fgpr-aggregator migrate` makes it for a new database; for another one put its copy back"
    return f"copy {name} from the replica or machine on which it was made"


class KeyDirectory:
    """Keys in a folder.

    Args:
        folder: made with mode 0700 where it is missing.
        passphrase: under which every key in it is encrypted; None where none is.

    Raises:
        CryptographicError: it cannot be made, or others can write in it.
    """

    def __init__(self, folder: Path, passphrase: bytes | None = None) -> None:
        self._folder = folder
        self._passphrase = passphrase
        try:
            folder.mkdir(mode=private_keys.FOLDER_MODE, parents=True, exist_ok=True)
            status = folder.stat()
        except OSError as error:
            raise CryptographicError(
                f"cannot use {folder} for keys: {error.strerror}; uid {os.geteuid()} has to write there"
            ) from error
        private_keys.check_folder(str(folder), status.st_mode, status.st_uid, os.geteuid())
        self._load = cache(self._read)

    def service(self) -> Ed25519PrivateKey:
        """The service key."""
        return self._load(SERVICE)

    def roster(self, federation: str) -> Ed25519PrivateKey:
        """A federation's roster key."""
        return self._load(f"roster-{federation}.pem")

    def check(self) -> None:
        """Check that the service key can be read now, and not only when the process started.

        Raises:
            CryptographicError: it cannot.
        """
        self._read(SERVICE)

    def read(self, name: str) -> Ed25519PrivateKey:
        """The key in a file of that name."""
        return self._load(name)

    def ensure_service(self) -> Ed25519PrivateKey:
        """The service key, made now where there is none."""
        return self._ensure(SERVICE)

    def ensure_roster(self, federation: str) -> Ed25519PrivateKey:
        """A federation's roster key, made now where there is none."""
        return self._ensure(f"roster-{federation}.pem")

    def remember(self, note: str, *, shorter: bool = False) -> None:
        """Keep the newest checkpoint beside the keys: a database that is put back does not take it along.

        Args:
            note: the signed checkpoint.
            shorter: keep it also where one of a longer log is kept, because the rest of that log is given up.

        Raises:
            CryptographicError: it cannot be written.
        """
        path = self._folder / CHECKPOINT
        draft = path.with_name(f".{CHECKPOINT}.{secrets.token_hex(8)}")
        try:
            # A server and commands keep checkpoints in one folder: of two, the one that comes late may be the older.
            with self._alone():
                kept = self.remembered()
                if kept is not None and (kept == note or (size_of(kept) > size_of(note) and not shorter)):
                    return
                with draft.open("x", encoding="utf-8") as file:
                    file.write(note)
                    file.flush()
                    os.fsync(file.fileno())
                draft.replace(path)
        except OSError as error:
            raise CryptographicError(f"cannot write {path}: {error.strerror}") from error
        finally:
            draft.unlink(missing_ok=True)

    def remembered(self) -> str | None:
        """The checkpoint that was kept last; None before the first.

        Raises:
            CryptographicError: it cannot be read.
        """
        path = self._folder / CHECKPOINT
        try:
            return path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CryptographicError(
                f"cannot read {path}: {error.strerror}; uid {os.geteuid()} has to read and write in that folder"
            ) from error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        # The folder itself is locked: a file for that would be one more to copy with the keys.
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def _ensure(self, name: str) -> Ed25519PrivateKey:
        # Not `exists`, which raises where this user may not look.
        if not os.access(self._folder / name, os.F_OK):
            self._create(name)
        return self._load(name)

    def _create(self, name: str) -> None:
        key = Ed25519PrivateKey.generate()
        path = self._folder / name
        draft = path.with_name(f".{name}.{secrets.token_hex(8)}")
        try:
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                with os.fdopen(os.open(draft, flags, private_keys.FILE_MODE), "wb") as file:
                    file.write(private_keys.to_pem(key, self._passphrase))
                    file.flush()
                    os.fsync(file.fileno())
                # A link never replaces a file, and a crash leaves the whole key or none.
                os.link(draft, path)
            finally:
                draft.unlink(missing_ok=True)
            folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except FileExistsError:
            # Another process was first, and its key is whole.
            return
        except OSError as error:
            raise CryptographicError(
                f"cannot write {path}: {error.strerror}; uid {os.geteuid()} has to write in that folder"
            ) from error

    def _read(self, name: str) -> Ed25519PrivateKey:
        path = self._folder / name
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise CryptographicError(
                f"cannot read {path} as uid {os.geteuid()}: {error.strerror}; {_advice(name)}"
            ) from error
        try:
            status = os.fstat(descriptor)
            private_keys.check_file(str(path), status.st_mode, status.st_uid, os.geteuid())
            return private_keys.from_pem(os.read(descriptor, private_keys.FILE_LIMIT), str(path), self._passphrase)
        finally:
            os.close(descriptor)

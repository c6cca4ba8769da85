"""The aggregator's private keys: PKCS8 files of mode 0600 in one folder, never in the database.

`service.pem` signs plans, cohorts, priors and checkpoints; `roster-FEDERATION.pem` signs the rosters of a federation.
What a key file must look like is said once for both services in `fgpr.private_keys`.
"""

import os
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr import private_keys
from fgpr.errors import CryptographicError


class KeyDirectory:
    """Keys in a folder.

    Args:
        folder: made with mode 0700 where it is missing.

    Raises:
        CryptographicError: it cannot be made, or others can write in it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(mode=private_keys.FOLDER_MODE, parents=True, exist_ok=True)
            status = folder.stat()
        except OSError as error:
            raise CryptographicError(f"cannot use {folder} for keys: {error.strerror}") from error
        private_keys.check_folder(str(folder), status.st_mode, status.st_uid, os.geteuid())
        self._load = cache(self._read)

    def service(self) -> Ed25519PrivateKey:
        """The service key."""
        return self._load("service.pem")

    def roster(self, federation: str) -> Ed25519PrivateKey:
        """A federation's roster key."""
        return self._load(f"roster-{federation}.pem")

    def ensure_service(self) -> Ed25519PrivateKey:
        """The service key, made now where there is none."""
        return self._ensure("service.pem")

    def ensure_roster(self, federation: str) -> Ed25519PrivateKey:
        """A federation's roster key, made now where there is none."""
        return self._ensure(f"roster-{federation}.pem")

    def _ensure(self, name: str) -> Ed25519PrivateKey:
        return self._load(name) if (self._folder / name).exists() else self._create(name)

    def _create(self, name: str) -> Ed25519PrivateKey:
        key = Ed25519PrivateKey.generate()
        path = self._folder / name
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            with os.fdopen(os.open(path, flags, private_keys.FILE_MODE), "wb") as file:
                file.write(private_keys.to_pem(key))
                file.flush()
                os.fsync(file.fileno())
        except FileExistsError:
            raise CryptographicError(f"{path} exists already: a key is never overwritten; move it away first") from None
        except OSError as error:
            raise CryptographicError(f"cannot write {path}: {error.strerror}") from error
        return key

    def _read(self, name: str) -> Ed25519PrivateKey:
        path = self._folder / name
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise CryptographicError(
                f"cannot read {path}: {error.strerror}; `fgpr-aggregator migrate` and `federation create` make keys"
            ) from error
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            private_keys.check_file(str(path), status.st_mode, status.st_uid, os.geteuid())
            return private_keys.from_pem(file.read(private_keys.FILE_LIMIT), str(path))

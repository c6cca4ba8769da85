"""Files that hold a secret: written once, whole or not at all, and readable by their owner only."""

import errno
import os
import secrets
from pathlib import Path

from fgpr import private_keys
from fgpr.errors import CryptographicError


def make_folder(folder: Path) -> None:
    """Make a folder that only its owner enters, with its parents; an existing one is checked.

    Raises:
        CryptographicError: others can write in it, or it is no folder.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=private_keys.FOLDER_MODE)
    except (FileExistsError, NotADirectoryError):
        if not folder.is_dir():
            raise CryptographicError(f"{folder} is no folder: name another one") from None
    except OSError as error:
        raise CryptographicError(f"cannot make {folder}: {error.strerror}; uid {os.geteuid()} has to write") from error
    _check_folder(folder)


def write(path: Path, secret: bytes) -> None:
    """Put `secret` into a new file of mode 0600; it is on disk when this returns.

    A crash leaves the whole file or none: the bytes are written under another name, which is then linked to `path`.

    Raises:
        CryptographicError: the file exists already, and stays as it is; or it cannot be written.
    """
    _check_folder(path.parent)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        try:
            with os.fdopen(os.open(draft, flags, private_keys.FILE_MODE), "wb") as file:
                file.write(secret)
                file.flush()
                os.fsync(file.fileno())
            # A link, unlike a rename, never replaces a file, nor does it follow a symbolic link at `path`.
            os.link(draft, path)
        finally:
            draft.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except FileExistsError:
        raise CryptographicError(f"{path} exists already: a key is never overwritten; move it away first") from None
    except OSError as error:
        raise CryptographicError(f"cannot write {path}: {error.strerror}; uid {os.geteuid()} has to write") from error


def read(path: Path) -> bytes:
    """The bytes of a file written by `write`.

    Raises:
        CryptographicError: there is none, it is a symbolic link, or another user owns, reads or writes it or can
            swap it; the message says what to do.
    """
    try:
        # Without O_NONBLOCK a FIFO under this name would be waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise CryptographicError(f"there is no key at {path}: enrol first, or name the folder that holds it") from None
    except OSError as error:
        reason = "a symbolic link, give the file itself" if error.errno == errno.ELOOP else error.strerror
        raise CryptographicError(f"cannot read {path}: {reason}") from error
    try:
        status = os.fstat(descriptor)
        private_keys.check_file(str(path), status.st_mode, status.st_uid, os.geteuid())
        _check_folder(path.parent)
        secret = os.read(descriptor, private_keys.FILE_LIMIT + 1)
    finally:
        os.close(descriptor)
    if len(secret) > private_keys.FILE_LIMIT:
        raise CryptographicError(f"{path} has more than {private_keys.FILE_LIMIT} bytes: it is no key")
    return secret


def _check_folder(folder: Path) -> None:
    try:
        status = folder.stat()
    except OSError as error:
        raise CryptographicError(f"cannot look into {folder}: {error.strerror}") from error
    private_keys.check_folder(str(folder), status.st_mode, status.st_uid, os.geteuid())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

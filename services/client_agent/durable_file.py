"""Files of the agent's home: there whole or not at all, on disk when a call returns, for their owner's eyes only.

Bytes are written under a draft's name, synchronised, and only then get their own name. A crash leaves a draft at most;
drafts are never read. Every function raises OSError where the disk refuses.
"""

import os
from pathlib import Path

from fgpr.errors import LocalProtocolError
from fgpr.private_keys import FILE_MODE, FOLDER_MODE


def write_once(path: Path, raw: bytes) -> None:
    """Write a file that is never changed afterwards.

    Raises:
        LocalProtocolError: there is one of that name; it stays as it is.
    """
    draft = _draft(path, raw)
    try:
        # A link, unlike a rename, never replaces a file.
        os.link(draft, path)
    except FileExistsError:
        raise LocalProtocolError(f"{path} is written already, and is never written twice") from None
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(path.parent)


def replace(path: Path, raw: bytes) -> None:
    """Write a file in place of the one of that name, if there is one."""
    draft = _draft(path, raw)
    try:
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def erase(path: Path) -> None:
    """Remove a file, if it is there. The bytes may stay on the medium until it uses their place again."""
    path.unlink(missing_ok=True)
    sync_folder(path.parent)


def make_folder(folder: Path) -> None:
    """Make a folder inside an existing one, if it is not there."""
    folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
    sync_folder(folder.parent)


def clear_drafts(folder: Path) -> None:
    """Remove what a crash left behind; only for a folder in which nobody else writes."""
    for draft in folder.glob(".*"):
        draft.unlink()


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on disk: without this a crash may lose a file that was synchronised itself."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _draft(path: Path, raw: bytes) -> Path:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(draft, flags, FILE_MODE), "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    return draft

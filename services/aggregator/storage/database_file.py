"""Where a SQLite database lies: looked at before it is opened, so that a wrong volume is one line and not a traceback.

SQLite keeps its write-ahead log in a file beside the database, and makes that one and others as it needs them. So the
process has to write in the folder, not only in the file; and where a container has the file mounted alone, the log with
the newest updates lies in the container's own layer and is lost with it.
"""

import errno
import os
import re
from pathlib import Path

from fgpr.errors import LocalProtocolError

SCHEME = "sqlite:///"

LEAST_ROOM = 2**20
"""Bytes that have to be free at the start: even a reader of a database with a write-ahead log writes a little."""

MOUNTS = Path("/proc/self/mountinfo")


def check(url: str) -> None:
    """Check that this process can work with the database's file. Does nothing for PostgreSQL.

    Raises:
        LocalProtocolError: its folder is missing, full or not this user's to write in; a file of it is not; it is
            mounted alone; or its links lead back to themselves. Says path, user and what to do.
    """
    if not url.startswith(SCHEME):
        return
    path = behind(Path(url.removeprefix(SCHEME)))
    folder, user = path.parent, os.geteuid()
    for above in reversed(folder.parents):
        if above.exists() and not os.access(above, os.X_OK, effective_ids=True):
            raise LocalProtocolError(
                f"uid {user} does not get through {above} to {folder}: it {_owner(above)}; chown or chmod it"
            )
    if not folder.is_dir():
        raise LocalProtocolError(
            f"there is no folder {folder} for the database: make one in which uid {user} may write"
        )
    _check_access(folder, os.R_OK | os.W_OK | os.X_OK, "in")
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        if (folder / name).exists():
            _check_access(folder / name, os.R_OK | os.W_OK, "to")
    if MOUNTS.exists() and is_mounted_alone(path, MOUNTS.read_text(encoding="utf-8", errors="replace")):
        raise LocalProtocolError(
            f"{path} is mounted alone: mount its folder. What was written last is in {path.name}-wal beside it, and "
            "would be lost with the container"
        )
    room = os.statvfs(folder)
    # Some file systems do not tell their size.
    if room.f_blocks and room.f_bavail * room.f_frsize < LEAST_ROOM:
        raise LocalProtocolError(
            f"the disk of {folder} is full: uid {user} needs {LEAST_ROOM} bytes at least, make room"
        )


def behind(path: Path) -> Path:
    """The file that a path leads to through links, absolute; it need not be there.

    SQLite's write-ahead log lies beside that one. SQLAlchemy takes `..` out of a path before it follows links.

    Raises:
        LocalProtocolError: links lead back to themselves.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 (`resolve` follows links first)
    try:
        return Path(os.path.realpath(path, strict=True))
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise LocalProtocolError(f"links of {path} lead back to themselves: name another file") from None
    # Some of it is missing, or not for this user to see.
    return Path(os.path.realpath(path))


def is_mounted_alone(path: Path, mounts: str) -> bool:
    """Whether something is mounted at `path` itself.

    Args:
        path: absolute, without links.
        mounts: text of /proc/self/mountinfo (proc(5)): the fifth field is where, with blanks and the like in octal.
    """
    points = (line.split(" ", 5)[4] for line in mounts.splitlines() if line.count(" ") > 4)
    return str(path) in {re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), point) for point in points}


def _check_access(path: Path, needed: int, where: str) -> None:
    if os.access(path, needed, effective_ids=True):
        return
    user = os.geteuid()
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        raise LocalProtocolError(f"{path} is on a disk mounted read-only: uid {user} has to write {where} it")
    raise LocalProtocolError(
        f"uid {user} has to read and write {where} {path}, which {_owner(path)}: "
        f"chown -R {user} {path.parent if where == 'to' else path}"
    )


def _owner(path: Path) -> str:
    status = path.stat()
    return f"belongs to uid {status.st_uid} and has mode {status.st_mode & 0o7777:04o}"

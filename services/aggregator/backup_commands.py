"""`fgpr-aggregator backup` and `restore`: the database to a file, and back.

The file is an SQLite database of the same schema, whichever database it came from, and may be put back into either.
"""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from aggregator import main
from aggregator.command_line import Database, Keys, KnownCheckpoint, context_for, settings_for, telling
from aggregator.service import restoring
from aggregator.service.context import Context
from aggregator.settings import Settings
from aggregator.storage import copying, database_file, engine
from aggregator.storage import migrate as schema
from fgpr.errors import LocalProtocolError, Unavailable, VerificationError
from fgpr.private_keys import FILE_MODE

_SQLITE = "sqlite:///"


def backup(
    file: Annotated[Path, typer.Argument(help="File to write; there must be none yet.")],
    database: Database = None,
    keys: Keys = None,
) -> None:
    """Copy the database, as it is at one moment, while the aggregator serves. Keys are copied by other means.

    The file is an SQLite database, also where the aggregator's is PostgreSQL.
    """
    with telling(), context_for(database, keys) as context:
        if file.exists():
            raise LocalProtocolError(f"{file} is there already: name another file")
        # Made first, so that nobody else takes the name; it holds nothing until the copy beside it is whole.
        _make(file)
        try:
            _write(context, file)
        except BaseException:
            file.unlink(missing_ok=True)
            raise
        typer.echo(f"{file} holds the database; keep it as secret as the database, and the keys elsewhere")


def restore(
    file: Annotated[
        Path | None, typer.Argument(help="What `backup` wrote; none where the database was put back by other means.")
    ] = None,
    lose_entries: Annotated[
        bool, typer.Option("--lose-entries", help="Take a log that is shorter than a checkpoint that is known.")
    ] = False,
    known_checkpoint: KnownCheckpoint = None,
    database: Database = None,
    keys: Keys = None,
) -> None:
    """Put a backup in place of the database, and begin a new epoch. Stop every aggregator on it first.

    Tickets that were not taken up, and requests signed before, are void. What happened after the backup is gone:
    enrolments, revocations, replaced keys. A log that lost entries is refused by this aggregator and by every agent
    that saw them.
    """
    with telling():
        settings = settings_for(database, keys, known_checkpoint=known_checkpoint)
        if file is None or settings.database.startswith(_SQLITE):
            _check_alone(settings)
        if file is None:
            _begin(settings, lose_entries=lose_entries)
        elif settings.database.startswith(_SQLITE):
            # Through links: the database is what they lead to, and its write-ahead log lies beside that.
            target = database_file.behind(Path(settings.database.removeprefix(_SQLITE)))
            with _draft(file, target, settings, lose_entries=lose_entries) as draft:
                _put_in_place(draft, target)
        else:
            _copy_in(file, settings, lose_entries=lose_entries)
        with _context(settings) as context:
            context.keys.remember(restoring.newest_note(context), shorter=lose_entries)
        typer.echo("a new epoch has begun: issue tickets anew, and repeat the revocations since the backup")


def _write(context: Context, file: Path) -> None:
    with _beside(file) as draft:
        _make(draft)
        try:
            with _opened(draft) as copied:
                schema.upgrade(copied)
                copying.copy(context.database, copied)
                copied.purge()
            _check_whole(draft)
        except Unavailable as error:
            raise Unavailable(f"cannot write {file}: {error}") from error
        _put_in_place(draft, file)


def _make(file: Path) -> None:
    # For its owner's eyes only: a running round's masked vectors will be in it.
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE))


def _check_alone(settings: Settings) -> None:
    database = engine.Database(settings.database_url)
    try:
        copying.check_alone(database)
    finally:
        database.close()


def _copy_in(file: Path, settings: Settings, *, lose_entries: bool) -> None:
    with _context(settings) as context, tempfile.TemporaryDirectory() as folder:
        empty = schema.is_new(context.database)
        if not empty:
            schema.check_schema(context.database)
        with (
            _draft(file, Path(folder) / "backup", settings, lose_entries=lose_entries) as draft,
            _opened(draft) as source,
        ):
            if empty:
                schema.upgrade(context.database)
            copying.copy(source, context.database)


@contextmanager
def _draft(file: Path, target: Path, settings: Settings, *, lose_entries: bool) -> Iterator[Path]:
    """A copy of the backup beside `target`, checked, with its new epoch begun."""
    with _beside(target) as draft:
        shutil.copyfile(file, draft)
        draft.chmod(FILE_MODE)
        # The draft is a file, whatever the database is.
        changed = {"database": f"{_SQLITE}{draft}", "database_password_file": None}
        shown = f"{_SQLITE}{file.absolute()}"
        try:
            _begin(settings.model_copy(update=changed), lose_entries=lose_entries, shown=shown)
            _check_whole(draft)
        except Unavailable as error:
            raise Unavailable(f"cannot put {file} in place: {error}") from error
        yield draft


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """A name in the folder of `target`; whatever is left under it at the end is removed."""
    if "?" in str(target):
        # What follows it in a URL would be options, and another file would be written.
        raise LocalProtocolError(f"{target} has a ? in it: name another file")
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        yield draft
    finally:
        for rest in _files(draft):
            rest.unlink(missing_ok=True)


def _check_whole(draft: Path) -> None:
    # The last connection writes the log back when it closes, and says nothing where the disk has no room for that.
    if any(rest.exists() and rest.stat().st_size for rest in _files(draft)[1:]):
        raise Unavailable(f"the disk of {draft.parent} is full: make room")


def _begin(settings: Settings, *, lose_entries: bool, shown: str | None = None) -> None:
    with _context(settings) as context:
        schema.check_schema(context.database, shown)
        restoring.check_keys(context)
        try:
            main.check_known(settings, context)
        except VerificationError as error:
            if not lose_entries:
                raise LocalProtocolError(
                    f"{error}; agents that saw more refuse it for good then, and have to enrol anew"
                ) from error
        restoring.begin_epoch(context)
        context.database.note_erasure()
        context.database.purge()


@contextmanager
def _context(settings: Settings) -> Iterator[Context]:
    context = main.create_context(settings)
    try:
        yield context
    finally:
        context.database.close()


@contextmanager
def _opened(file: Path) -> Iterator[engine.Database]:
    database = engine.Database(f"{_SQLITE}{file}")
    try:
        yield database
    finally:
        database.close()


def _put_in_place(draft: Path, target: Path) -> None:
    # The old write-ahead log belongs to the old file, and would be played into the new one.
    for rest in _files(target)[1:]:
        rest.unlink(missing_ok=True)
    draft.replace(target)
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _files(path: Path) -> list[Path]:
    return [path, *(path.with_name(path.name + ending) for ending in ("-wal", "-shm"))]

"""`fgpr-aggregator backup` and `restore`: the database to a file, and back."""

import os
import secrets
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from aggregator import main
from aggregator.command_line import Database, Keys, context_for, settings_for, telling
from aggregator.service import restoring
from aggregator.settings import Settings
from aggregator.storage import migrate as schema
from fgpr.errors import FgprError, LocalProtocolError
from fgpr.private_keys import FILE_MODE

_SQLITE = "sqlite:///"


def backup(
    file: Annotated[Path, typer.Argument(help="File to write; there must be none yet.")],
    database: Database = None,
    keys: Keys = None,
) -> None:
    """Copy the database, as it is at one moment, while the aggregator serves. Keys are copied by other means."""
    with telling():
        settings = settings_for(database, keys)
        if file.exists():
            raise LocalProtocolError(f"{file} is there already: name another file")
        with context_for(database, keys):
            pass
        # Made first, for its owner's eyes only: a running round's masked vectors are in it.
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE))
        try:
            _copy_out(settings.database, file)
        except BaseException:
            file.unlink()
            raise
        typer.echo(f"{file} holds the database; keep it as secret as the database, and the keys elsewhere")


def restore(
    file: Annotated[
        Path | None, typer.Argument(help="What `backup` wrote; none where the database was put back by other means.")
    ] = None,
    lose_entries: Annotated[
        bool, typer.Option("--lose-entries", help="Take a log that is shorter than a checkpoint that is known.")
    ] = False,
    database: Database = None,
    keys: Keys = None,
) -> None:
    """Put a backup in place of the database, and begin a new epoch. Stop every aggregator on it first.

    Tickets that were not taken up, and requests signed before, are void. What happened after the backup is gone:
    enrolments, revocations, replaced keys. A log that lost entries is refused by this aggregator and by every agent
    that saw them.
    """
    with telling():
        settings = settings_for(database, keys)
        if file is None:
            _begin(settings, lose_entries=lose_entries)
        else:
            target = _path_of(settings.database)
            draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
            try:
                shutil.copyfile(file, draft)
                draft.chmod(FILE_MODE)
                _begin(settings.model_copy(update={"database": f"{_SQLITE}{draft}"}), lose_entries=lose_entries)
                _put_in_place(draft, target)
            finally:
                for rest in _files(draft):
                    rest.unlink(missing_ok=True)
        typer.echo("a new epoch has begun: issue tickets anew, and repeat the revocations since the backup")


def _begin(settings: Settings, *, lose_entries: bool) -> None:
    context = main.create_context(settings)
    try:
        schema.check_schema(context.database)
        try:
            main.check_known(settings, context)
        except FgprError as error:
            if not lose_entries:
                raise LocalProtocolError(
                    f"{error}. With --lose-entries it is taken all the same; agents that saw more refuse it for good, "
                    "and have to enrol anew"
                ) from error
        restoring.begin_epoch(context)
        context.keys.remember(restoring.newest_note(context))
        context.database.note_erasure()
        context.database.purge()
    finally:
        context.database.close()


def _copy_out(url: str, file: Path) -> None:
    if url.startswith(_SQLITE):
        with closing(sqlite3.connect(_path_of(url))) as connection:
            connection.execute("VACUUM INTO ?", (str(file),))
        return
    program = shutil.which("pg_dump")
    if program is None:
        raise LocalProtocolError("pg_dump is not here: run `pg_dump --format=custom --file FILE URL` where it is")
    libpq = url.replace("postgresql+psycopg://", "postgresql://", 1)
    # The address may hold a password: it goes by the environment, which other users cannot read.
    done = subprocess.run(  # noqa: S603 - the program that PATH names, with fixed arguments
        [program, "--format=custom", "--file", str(file)],
        env=os.environ | {"PGDATABASE": libpq},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise LocalProtocolError(f"pg_dump failed: {done.stderr.strip().splitlines()[-1:]}")


def _path_of(url: str) -> Path:
    if not url.startswith(_SQLITE):
        raise LocalProtocolError(
            "put a PostgreSQL database back with `pg_restore --clean`, then run `fgpr-aggregator restore` without "
            "a file"
        )
    return Path(url.removeprefix(_SQLITE))


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

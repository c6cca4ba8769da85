"""Brings a database to this program's schema, and refuses to work on another one."""

import shlex
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from aggregator.storage.engine import Connection, Database
from fgpr.errors import LocalProtocolError


def upgrade(database: Database, revision: str = "head") -> None:
    """Bring the schema up, in one transaction; several processes may do this at once.

    Raises:
        LocalProtocolError: a newer program made the database.
    """
    with database.alone() as connection:
        _check_known(MigrationContext.configure(connection).get_current_revision(), database.shown)
        command.upgrade(_config(connection), revision)


def downgrade(database: Database, revision: str) -> None:
    """Bring the schema back to an older revision, in one transaction."""
    with database.alone() as connection:
        command.downgrade(_config(connection), revision)


def is_new(database: Database) -> bool:
    """Whether no program made its tables in the database yet; a file is not made by asking."""
    if database.file is not None and not database.file.exists():
        return True
    with database.read() as connection:
        return MigrationContext.configure(connection).get_current_revision() is None


def check_schema(database: Database, shown: str | None = None) -> None:
    """Check that the database has exactly this program's schema.

    Args:
        database: looked at.
        shown: its URL as a user knows it, where it is a copy.

    Raises:
        LocalProtocolError: it has an older, newer or no schema; names the database, and says what to run.
    """
    head = _scripts().get_current_head()
    with database.read() as connection:
        present = MigrationContext.configure(connection).get_current_revision()
    if present == head:
        return
    name = shown or database.shown
    _check_known(present, name)
    raise LocalProtocolError(
        f"the database {name} has schema {present or 'none'}, this program needs {head}: run "
        f"`fgpr-aggregator migrate --database {shlex.quote(name)}`"
    )


def _check_known(present: str | None, name: str) -> None:
    if present is not None and present not in {script.revision for script in _scripts().walk_revisions()}:
        raise LocalProtocolError(
            f"the database {name} has schema {present}, which this program does not know: use the version of "
            "fgpr-aggregator that made it, or a newer one"
        )


def _scripts() -> ScriptDirectory:
    return ScriptDirectory(str(_folder()))


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_folder()))
    config.attributes["connection"] = connection
    return config


def _folder() -> Path:
    # In a wheel the migrations lie inside the package, in a checkout at its top.
    installed = Path(__file__).parent.parent / "migrations"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "migrations"

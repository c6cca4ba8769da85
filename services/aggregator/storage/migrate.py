"""Brings a database to this program's schema, and refuses to work on another one."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from aggregator.storage.engine import Connection, Database
from fgpr.errors import LocalProtocolError


def upgrade(database: Database, revision: str = "head") -> None:
    """Bring the schema up, in one transaction; several processes may do this at once."""
    with database.alone() as connection:
        command.upgrade(_config(connection), revision)


def downgrade(database: Database, revision: str) -> None:
    """Bring the schema back to an older revision, in one transaction."""
    with database.alone() as connection:
        command.downgrade(_config(connection), revision)


def check_schema(database: Database) -> None:
    """Check that the database has exactly this program's schema.

    Raises:
        LocalProtocolError: it has an older, newer or no schema; says what to run.
    """
    head = ScriptDirectory(str(_folder())).get_current_head()
    with database.read() as connection:
        present = MigrationContext.configure(connection).get_current_revision()
    if present != head:
        raise LocalProtocolError(
            f"the database has schema {present or 'none'}, this program needs {head}: run `fgpr-aggregator migrate`"
        )


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_folder()))
    config.attributes["connection"] = connection
    return config


def _folder() -> Path:
    # In a wheel the migrations lie inside the package, in a checkout at its top.
    installed = Path(__file__).parent.parent / "migrations"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "migrations"

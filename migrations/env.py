"""Runs migrations on the connection that `aggregator.storage.migrate` hands over, or on alembic.ini's URL."""

from alembic import context
from sqlalchemy import Connection

from aggregator.storage.engine import Database
from aggregator.storage.tables import metadata


def run(connection: Connection) -> None:
    # SQLite can hardly ALTER: batch mode copies the table instead.
    context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    with Database(context.config.get_main_option("sqlalchemy.url") or "").write() as own:
        run(own)

"""A bug that the campaign must find: audit entries in a transaction of their own, after that of the effect."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from aggregator.service import audit
from aggregator.service.context import Context
from aggregator.storage import log
from aggregator.storage.engine import Connection, Database
from fgpr.auditlog.entries import Leaf


def leaves_in_their_own_transaction() -> None:
    """Put the bug into this process."""
    record, write = audit.record, Database.write
    waiting: list[tuple[Context, Leaf]] = []

    def later(context: Context, connection: Connection, leaves: Sequence[Leaf]) -> int:
        index = log.read_head(connection)[0].size + len(waiting)
        waiting.extend((context, leaf) for leaf in leaves)
        return index

    @contextmanager
    def write_then_log(database: Database) -> Iterator[Connection]:
        waiting.clear()
        with write(database) as connection:
            yield connection
        for context, leaf in waiting:
            with write(database) as connection:
                record(context, connection, [leaf])
        waiting.clear()

    audit.record = later
    Database.write = write_then_log  # type: ignore[method-assign]  # that is the bug

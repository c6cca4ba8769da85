"""Two replicas of one aggregator behind one address, and parties whose requests go to either."""

import itertools
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from sqlalchemy import insert, select

from aggregator import main
from aggregator.service.context import Context
from aggregator.storage.engine import Database
from aggregator.storage.tables import metadata
from support.aggregator import Aggregator, listening, served
from support.party import Party, Recorded


class Balanced(Recorded):
    """The way to the one address, behind which each request goes to the next replica."""

    def __init__(self, ports: list[int]) -> None:
        super().__init__()
        self._ports = itertools.cycle(ports)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return super().handle_request(self.towards(request, next(self._ports)))

    def towards(self, request: httpx.Request, port: int) -> httpx.Request:
        """The same request, headers and all, for the replica at a port."""
        request.read()
        url = request.url.copy_with(port=port)
        return httpx.Request(request.method, url, headers=request.headers, content=request.content)


@dataclass
class Replicas:
    """Two of them.

    Attributes:
        first: the replica whose port is the public one.
        second: the context of the other.
        ports: where they listen.
    """

    first: Aggregator
    second: Context
    ports: list[int]

    def party(self, name: str) -> Party:
        """An enrolled client whose requests go to both in turn."""
        ticket = self.first.invite(name)
        party = Party(ticket, Balanced(self.ports), self.first.clock, self.first.context.random_bytes)
        self.first.parties[name] = party
        party.enrol()
        return party


@contextmanager
def two_replicas(
    folder: Path, url: str, *, keeps_deadlines: bool = True, prefix: str = "", **changed: Any
) -> Iterator[Replicas]:
    """Two replicas on one database, each with its own thread for deadlines and, on PostgreSQL, its listener.

    Args as for `served`.
    """
    with (
        served(folder, url=url, keeps_deadlines=keeps_deadlines, prefix=prefix, **changed) as first,
        socket.create_server(("127.0.0.1", 0), backlog=256) as listener,
    ):
        context = first.second_replica()
        app = main.create_app(first.settings, context)
        ports = [urlsplit(first.settings.origin).port or 0, listener.getsockname()[1]]
        with listening(app, context, listener, keeps_deadlines=keeps_deadlines):
            yield Replicas(first, context, ports)


class Snapshot:
    """Every row of a database, to be put back."""

    def __init__(self, database: Database) -> None:
        with database.read() as connection:
            self._rows: dict[str, list[dict[str, Any]]] = {
                table.name: [dict(row) for row in connection.execute(select(table)).mappings()]
                for table in metadata.sorted_tables
            }

    def restore(self, database: Database) -> None:
        """Make the database hold these rows and no others."""
        with database.write() as connection:
            for table in reversed(metadata.sorted_tables):
                connection.execute(table.delete())
            for table in metadata.sorted_tables:
                if rows := self._rows[table.name]:
                    connection.execute(insert(table), rows)

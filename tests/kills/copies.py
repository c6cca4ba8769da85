"""Copies of a database at rest, on SQLite and on PostgreSQL: each injected fault gets one of its own."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import psycopg
from psycopg import sql
from sqlalchemy import make_url

from support.databases import migrated_sqlite
from support.postgres import Postgres


class Copies(Protocol):
    """Where databases come from."""

    kind: str

    def new(self) -> str:
        """The URL of a new database with this program's schema."""
        ...

    def copy(self, url: str, name: str) -> str:
        """The URL of a copy of a database on which nobody works."""
        ...

    def drop(self, url: str) -> None:
        """Give up a copy."""
        ...


class SqliteCopies:
    """Files in a folder."""

    kind = "sqlite"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def new(self) -> str:
        return migrated_sqlite(self._folder / "fgpr.db")

    def copy(self, url: str, name: str) -> str:
        folder = self._folder / name
        folder.mkdir()
        shutil.copy(path_of(url), folder / "fgpr.db")
        return f"sqlite:///{folder / 'fgpr.db'}"

    def drop(self, url: str) -> None:
        shutil.rmtree(path_of(url).parent)


class PostgresCopies:
    """Databases of one server, made from each other as templates."""

    kind = "postgresql"

    def __init__(self, server: Postgres) -> None:
        self._server = server

    def new(self) -> str:
        with self._server.database() as url:
            return url

    def copy(self, url: str, name: str) -> str:
        template = make_url(url).database or ""
        self._execute("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY", name, template)
        return self._server.url_of(name)

    def drop(self, url: str) -> None:
        self._execute("DROP DATABASE {} WITH (FORCE)", make_url(url).database or "")

    def _execute(self, statement: str, *names: str) -> None:
        url = make_url(self._server.url).set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def path_of(url: str) -> Path:
    """The file of a SQLite database."""
    return Path(url.removeprefix("sqlite:///"))


@contextmanager
def copied(copies: Copies, url: str, name: str) -> Iterator[str]:
    """A copy for as long as the block."""
    made = copies.copy(url, name)
    try:
        yield made
    finally:
        copies.drop(made)

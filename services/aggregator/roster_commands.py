"""`fgpr-aggregator roster`: have rosters signed on a machine that the aggregator's operator does not run.

`export` and `import` work on the database; `create-key` and `sign` need none, and nothing but files.
"""

import os
import secrets
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter, ValidationError

from aggregator.command_line import Database, Keys, context_for, naming, settings_for, telling
from aggregator.keys import KeyDirectory
from aggregator.service import rosters
from aggregator.service.roster_signing import sign_draft
from fgpr import private_keys
from fgpr.message import Name, Signed
from fgpr.secagg.roster import Roster, RosterDraft, changes

app = typer.Typer(help="Rosters whose key is held elsewhere.", no_args_is_help=True)

Out = Annotated[Path, typer.Option("--out", help="File to write.")]


@app.command("create-key")
def create_key(
    federation: Annotated[str, typer.Option(help="Name of the federation.")],
    folder: Annotated[Path, typer.Option(help="Folder of the roster key; made where it is missing.")],
) -> None:
    """Make a roster key, on the signer's machine; its public half, beside it, goes to the aggregator's operator."""
    with telling():
        _check_name(federation)
        key = KeyDirectory(folder, settings_for(None, None).key_passphrase).ensure_roster(federation)
        public = folder / f"roster-{federation}.pub.pem"
        public.write_bytes(private_keys.public_to_pem(key.public_key()))
        typer.echo(f"the key is {folder / f'roster-{federation}.pem'}; hand {public} to the operator")


@app.command("export")
def export(
    federation: Annotated[str, typer.Option(help="Name of the federation.")],
    out: Out,
    database: Database = None,
    keys: Keys = None,
) -> None:
    """Write the next roster, unsigned, with everybody who is enrolled now."""
    with telling(), context_for(database, keys) as context:
        draft = rosters.export(context, federation)
        out.write_bytes(draft.encode())
        typer.echo(
            f"roster {draft.version} of {federation}, {len(draft.active())} clients, is in {out}; have it signed"
        )


@app.command("sign")
def sign(
    draft: Annotated[Path, typer.Argument(help="File that `roster export` wrote.")],
    key: Annotated[Path, typer.Option(help="The roster key, in PEM, mode 0600.")],
    out: Out,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Sign a roster, on the signer's machine: shows what changes, draws the nonce, signs each version once.

    The last roster signed is kept beside the key, in KEY.signed.json: keep that file as well as the key.
    """
    with telling():
        with naming(draft):
            wanted = RosterDraft.decode(draft.read_bytes())
        record = key.with_name(f"{key.name}.signed.json")
        with naming(record):
            last = Signed[Roster].decode(record.read_bytes()) if record.exists() else None
        private = KeyDirectory(key.parent, settings_for(None, None).key_passphrase).read(key.name)
        signed = sign_draft(wanted, last, private, secrets.token_bytes)
        if signed != last:
            for line in changes(None if last is None else last.message, wanted):
                typer.echo(line)
            if not yes:
                typer.confirm(f"sign this as roster {wanted.version} of {wanted.federation}?", abort=True)
            _replace(record, signed.encode())
        out.write_bytes(signed.encode())
        typer.echo(f"roster {wanted.version} of {wanted.federation} is signed: {out}")


@app.command("import")
def import_(
    signed: Annotated[Path, typer.Argument(help="File that `roster sign` wrote.")],
    database: Database = None,
    keys: Keys = None,
) -> None:
    """Verify a signed roster and put it in force, from the next round on that may use it."""
    with telling(), context_for(database, keys, signs=True) as context:
        with naming(signed):
            roster = Signed[Roster].decode(signed.read_bytes())
        stale = rosters.bring_in(context, roster)
        more = "; the membership has changed since: export again" if stale else ""
        typer.echo(f"roster {roster.message.version} of {roster.message.federation} is in force{more}")


def _check_name(federation: str) -> None:
    # It becomes a part of file names, and no federation of another name can be created.
    try:
        TypeAdapter(Name).validate_python(federation)
    except ValidationError as error:
        raise typer.BadParameter("--federation takes a name of a-z, 0-9 and -, at most 64 characters") from error


def _replace(path: Path, content: bytes) -> None:
    # Before the roster is handed out: a nonce that could be drawn again could be chosen.
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with draft.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)

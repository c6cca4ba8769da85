"""`fgpr-aggregator federation`: create federations, look at them, pause, resume, close and release them."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from rich import box
from rich.console import Console
from rich.table import Table

from aggregator.command_line import Database, Json, Keys, context_for, naming, print_json, telling
from aggregator.service import federations, steering
from fgpr import private_keys, toml
from fgpr.federated.federation import Federation
from fgpr.operator_rest import StateRequest

app = typer.Typer(help="Create federations, pause, resume and close them.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Name of the federation.")]
Reason = Annotated[str, typer.Option(help="Why; it stands in the audit log, where everybody may read it.")]


@app.command("create")
def federation_create(
    file: Annotated[Path, typer.Argument(help="TOML file; docs/walkthrough.md shows one.")],
    roster_key: Annotated[
        Path | None, typer.Option(help="Public roster key in PEM, where the private one is held elsewhere.")
    ] = None,
    database: Database = None,
    keys: Keys = None,
) -> None:
    """Create a federation from its TOML file: its roster key, its audit leaf, its initial prior."""
    with telling(), context_for(database, keys, signs=True) as context:
        with naming(file):
            settings = Federation.from_settings(toml.parse(file.read_bytes()))
        # A key that is made for one that another replica created would be a wrong one.
        federations.check_free(context, settings.name)
        key: Ed25519PrivateKey | Ed25519PublicKey = (
            context.keys.ensure_roster(settings.name)
            if roster_key is None
            else private_keys.public_from_pem(roster_key.read_bytes(), str(roster_key))
        )
        federations.create(context, settings, key)
        typer.echo(f"federation {settings.name} is created; invite clients with `fgpr-aggregator invite`")


@app.command("list")
def federation_list(as_json: Json = False, database: Database = None, keys: Keys = None) -> None:
    """List federations and where they stand."""
    with telling(), context_for(database, keys) as context:
        lines = steering.list_federations(context, None).federations
        if as_json:
            print_json([line.to_json() for line in lines])
            return
        table = Table("federation", "state", "parties", "round", "stage", "prior", box=box.SIMPLE, pad_edge=False)
        for line in lines:
            numbers = (str(line.clients), str(line.round), line.stage or "", str(line.prior_version))
            table.add_row(line.name, line.state, *numbers)
        Console().print(table)


@app.command("clients")
def federation_clients(federation: Name, as_json: Json = False, database: Database = None, keys: Keys = None) -> None:
    """List the parties of a federation, revoked ones included."""
    with telling(), context_for(database, keys) as context:
        lines = steering.list_clients(context, None, federation).clients
        if as_json:
            print_json([line.to_json() for line in lines])
            return
        table = Table("party", "role", "key id", "enrolled (UTC)", "revoked (UTC)", box=box.SIMPLE, pad_edge=False)
        for line in lines:
            times = (moment[:19].replace("T", " ") for moment in (line.enrolled_at, line.revoked_at or ""))
            table.add_row(line.client, line.role, line.key_id, *times)
        Console().print(table)


@app.command("pause")
def pause(federation: Name, reason: Reason, database: Database = None, keys: Keys = None) -> None:
    """Open no further round; the running one goes on to its end."""
    with telling():
        _change(federation, "paused", reason, database, keys)


@app.command("resume")
def resume(federation: Name, reason: Reason, database: Database = None, keys: Keys = None) -> None:
    """Let rounds open again."""
    with telling():
        _change(federation, "resumed", reason, database, keys)


@app.command("close")
def close(
    federation: Name,
    reason: Reason,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    database: Database = None,
    keys: Keys = None,
) -> None:
    """Close a federation for good: no round opens and nobody enrols any more. Its priors and the log stay readable."""
    with telling():
        if not yes:
            typer.confirm(f"close {federation}, for good?", abort=True)
        _change(federation, "closed", reason, database, keys)


@app.command("release")
def release(
    federation: Name,
    reason: Reason,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    database: Database = None,
    keys: Keys = None,
) -> None:
    """Let the next round of a carried theta have another roster: a way on where the old roster's clients have gone.

    The carried round may have been opened in secret. Whoever stood in it is counted no more for this theta, and its
    agent refuses on its own: it takes part again once theta has moved. Newcomers' sums differ from the old cohort by
    all of both. Agents see the carries and ask their owners beyond the number that those allow.
    """
    with telling():
        if not yes:
            typer.confirm(f"give up the old roster of {federation} for the carried theta?", abort=True)
        _change(federation, "released", reason, database, keys)


def _change(
    federation: str,
    state: Literal["paused", "resumed", "closed", "released"],
    reason: str,
    database: str | None,
    keys: Path | None,
) -> None:
    with context_for(database, keys, signs=True) as context:
        line = steering.change_state(context, None, federation, StateRequest(state=state, reason=reason).encode())
        typer.echo(f"federation {federation} is {'released' if state == 'released' else line.state}")

"""`fgpr-aggregator`: serve, and administer the database directly."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
import uvicorn
from rich import box
from rich.console import Console
from rich.table import Table

from aggregator import (
    backup_commands,
    doctor,
    federation_commands,
    logs,
    main,
    roster_commands,
    serving,
    staff_commands,
)
from aggregator.command_line import (
    Database,
    Json,
    Keys,
    KnownCheckpoint,
    Origin,
    context_for,
    print_json,
    settings_for,
    telling,
)
from aggregator.service import enrolment, operator, schedule
from aggregator.settings import without_password
from aggregator.storage import migrate as schema
from fgpr.ticket import Role

MOST_ROUND = 2**31 - 1
"""Largest number of a round: the column of either database ends there, and so does the REST interface."""

app = typer.Typer(
    help="The aggregator of an FGPR federation: stores rounds, unmasks only their weighted average, publishes priors.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
round_app = typer.Typer(help="Open rounds by hand, and look at them.", no_args_is_help=True)
app.command()(backup_commands.backup)
app.command()(backup_commands.restore)
app.command()(doctor.doctor)
app.add_typer(federation_commands.app, name="federation")
app.add_typer(round_app, name="round")
app.add_typer(roster_commands.app, name="roster")
app.add_typer(staff_commands.app, name="staff")


@app.command()
def migrate(database: Database = None, keys: Keys = None) -> None:
    """Bring the database to this program's schema; the first time, make the service key and start the audit log."""
    with telling():
        settings = settings_for(database, keys)
        context = main.create_context(settings)
        try:
            main.check_may_begin(context)
            schema.upgrade(context.database)
            operator.start_log(context)
        finally:
            context.database.close()
        typer.echo(f"database {without_password(settings.database)} is ready; keys are in {settings.keys}")


@app.command()
def serve(
    database: Database = None,
    keys: Keys = None,
    origin: Origin = None,
    listen: Annotated[str, typer.Option(help="HOST:PORT to listen on.")] = "127.0.0.1:8000",
    known_checkpoint: KnownCheckpoint = None,
    tls_certificate: Annotated[
        Path | None, typer.Option(help="PEM file with the certificate chain: speak TLS; default FGPR_TLS_CERTIFICATE.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(help="PEM file, mode 0600, with its private key; default FGPR_TLS_KEY.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(help="here (/metrics), off, or HOST:PORT; default FGPR_METRICS, else here.")
    ] = None,
) -> None:
    """Serve the REST interface, and keep every deadline. Limits are FGPR_* variables; docs/serving.md lists them."""
    with telling():
        host, _, port = listen.rpartition(":")
        if not host or not port.isdecimal() or int(port) > 65_535:
            raise typer.BadParameter("--listen takes HOST:PORT, as in 127.0.0.1:8000")
        settings = settings_for(
            database,
            keys,
            origin,
            tls_certificate=tls_certificate,
            tls_key=tls_key,
            metrics=metrics,
            known_checkpoint=known_checkpoint,
        )
        logs.configure()
        context = main.create_context(settings)
        try:
            app = main.create_app(settings, context)
            server = uvicorn.Server(serving.configure(app))
            with serving.listening(host.strip("[]"), int(port)) as sockets, serving.metrics_listener(app):
                serving.settle_memory()
                server.run(sockets)
        finally:
            context.database.close()


@app.command("openapi")
def openapi(origin: Origin = None) -> None:
    """Print the OpenAPI document of the REST interface."""
    with telling():
        settings = settings_for(None, None, origin)
        print_json(main.create_interface(settings.origin).openapi())


@app.command()
def invite(
    federation: Annotated[str, typer.Option(help="Name of the federation.")],
    party: Annotated[str, typer.Argument(help="Id of the party: a-z, 0-9 and -, at most 64.")],
    reader: Annotated[bool, typer.Option("--reader", help="Fetches priors only; takes part in no round.")] = False,
    days: Annotated[int, typer.Option(min=1, max=365, help="Days until the ticket expires.")] = 7,
    database: Database = None,
    keys: Keys = None,
    origin: Origin = None,
) -> None:
    """Print a one-time ticket for a party. Hand it over by a way that nobody else reads."""
    with telling(), context_for(database, keys, origin, signs=True) as context:
        role: Role = "reader" if reader else "client"
        typer.echo(enrolment.invite(context, federation, party, role, timedelta(days=days)).to_text())


@app.command()
def revoke(
    federation: Annotated[str, typer.Option(help="Name of the federation.")],
    party: Annotated[str, typer.Argument(help="Id of the party.")],
    database: Database = None,
    keys: Keys = None,
) -> None:
    """Revoke a party at once; no cohort closed from now on counts it."""
    with telling(), context_for(database, keys, signs=True) as context:
        enrolment.revoke(context, federation, party)
        typer.echo(f"{party} is revoked in {federation}")


@round_app.command("open")
def round_open(
    federation: Annotated[str, typer.Option(help="Name of the federation.")],
    database: Database = None,
    keys: Keys = None,
) -> None:
    """Open a round now, whatever the schedule says."""
    with telling(), context_for(database, keys, signs=True) as context:
        typer.echo(f"round {schedule.open_by_hand(context, federation)} is open")


@round_app.command("list")
def round_list(
    federation: Annotated[str, typer.Option(help="Name of the federation.")],
    limit: Annotated[int, typer.Option(min=1, max=100)] = 20,
    as_json: Json = False,
    database: Database = None,
    keys: Keys = None,
) -> None:
    """List rounds, newest first."""
    with telling(), context_for(database, keys) as context:
        lines = operator.list_rounds(context, federation, limit)
        if as_json:
            print_json([line.to_json() for line in lines])
            return
        table = Table(box=box.SIMPLE, pad_edge=False)
        for heading in ("round", "stage", "prior", "uploads", "openings", "ended (UTC)"):
            table.add_column(heading, no_wrap=True)
        table.add_column("reason", ratio=1)
        for line in lines:
            table.add_row(
                str(line.round),
                line.stage.value,
                str(line.prior_version),
                f"{line.contributions}/{line.invited}",
                f"{line.openings}/{line.threshold}",
                (line.ended_at or "")[5:19].replace("T", " "),
                line.reason or "",
            )
        Console().print(table)


@round_app.command("show")
def round_show(
    federation: Annotated[str, typer.Option(help="Name of the federation.")],
    number: Annotated[int, typer.Argument(min=0, max=MOST_ROUND, help="The round's number.")],
    database: Database = None,
    keys: Keys = None,
) -> None:
    """Show one round as JSON: its signed plan, its cohort, who opened."""
    with telling(), context_for(database, keys) as context:
        print_json(operator.show_round(context, federation, number))


if __name__ == "__main__":
    app()

"""`fgpr-aggregator staff`: operators and auditors, who are admitted and revoked on this machine only."""

from datetime import timedelta
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from aggregator.command_line import Database, Json, Keys, Origin, context_for, print_json, telling
from aggregator.service import staff
from fgpr.message import timestamp
from fgpr.staff import StaffRole

app = typer.Typer(help="Operators and auditors.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Name of the operator or auditor: a-z, 0-9 and -, at most 64.")]


@app.command("invite")
def invite(
    name: Name,
    role: Annotated[StaffRole, typer.Option(help="An operator acts, an auditor reads.")],
    days: Annotated[int, typer.Option(min=1, max=30, help="Days until the ticket expires.")] = 1,
    database: Database = None,
    keys: Keys = None,
    origin: Origin = None,
) -> None:
    """Print a one-time ticket for an operator or auditor. Hand it over by a way that nobody else reads."""
    with telling(), context_for(database, keys, origin, signs=True) as context:
        typer.echo(staff.invite(context, name, role, timedelta(days=days)).to_text())


@app.command("list")
def listing(as_json: Json = False, database: Database = None, keys: Keys = None) -> None:
    """List operators and auditors, revoked ones included."""
    with telling(), context_for(database, keys) as context:
        lines = [
            {
                "name": row.name,
                "role": row.role,
                "key_id": row.key_id,
                "enrolled_at": timestamp(row.enrolled_at),
                "revoked_at": None if row.revoked_at is None else timestamp(row.revoked_at),
            }
            for row in staff.listing(context)
        ]
        if as_json:
            print_json(lines)
            return
        table = Table("name", "role", "key id", "enrolled (UTC)", "revoked (UTC)", box=box.SIMPLE, pad_edge=False)
        for line in lines:
            table.add_row(*(value or "" for value in line.values()))
        Console().print(table)


@app.command("revoke")
def revoke(name: Name, database: Database = None, keys: Keys = None) -> None:
    """Revoke an operator or auditor at once."""
    with telling(), context_for(database, keys) as context:
        staff.revoke(context, name)
        typer.echo(f"{name} is revoked")

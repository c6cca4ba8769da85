"""The command line of an agent: `fgpr-agent` (`client_agent.program`), or `python -m client_agent.cli`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from client_agent import (
    agent_toml,
    authorities,
    check_command,
    declaration,
    enrolment,
    identity,
    key_command,
    membership,
    own_rows,
    predict_command,
    prior_command,
    privacy_command,
    run_command,
    signed_request,
    status_command,
    unit_command,
)
from client_agent.api import Api
from client_agent.command_line import DEFAULT_HOME, Config, Home, say, telling, ticket_of
from client_agent.own_data import file_of
from fgpr import signatures

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
prior_app = typer.Typer(help="The prior that the federation has learned.", no_args_is_help=True)
app.add_typer(prior_app, name="prior")
prior_app.command("show")(prior_command.show)
app.command("predict")(predict_command.predict_rows)
app.command("privacy")(privacy_command.show)
app.command("rotate-key")(key_command.rotate)
app.command("run")(run_command.run)
app.command("check")(check_command.check)
app.command("status")(status_command.show)
app.command("service-unit")(unit_command.show)

Data = Annotated[Path, typer.Option("--data", help="Your rows: CSV with a header row, or C-MAPSS text; .gz too.")]
Unit = Annotated[int | None, typer.Option("--unit", help="Take the rows of this unit only.")]
Target = Annotated[
    str | None, typer.Option("--target", help="Column of the target, where yours has another name than the model's.")
]


@app.callback()
def agent() -> None:
    """The agent of one client of a federation: it trains on your data, which never leave this machine."""


@app.command()
def enrol(
    ticket: Annotated[
        str,
        typer.Option("--ticket", help="The ticket itself, @FILE, or - for standard input (others may see the first)."),
    ],
    home: Home = DEFAULT_HOME,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            help="Your rows, which are counted where the federation draws clients by their number; else as agent.toml "
            "says.",
            show_default=False,
        ),
    ] = None,
    unit: Unit = None,
    config: Config = None,
    ca: Annotated[
        Path | None, typer.Option("--ca", help="PEM file of the authority that vouches for the aggregator's TLS.")
    ] = None,
) -> None:
    """Take up a ticket and become a member.

    Makes the keys of this client in its home. If the answer gets lost, the same command asks for it again.

    Some federations draw clients in proportion to their rows. The number of yours, up to a cap, is then declared: it
    stands in the roster and in the audit log for good, where everybody can read it. Others are told nothing of it.
    Rows are counted as agent.toml says: its unit, and without those that have a hole in a column that it names.
    """
    with telling():
        if ca is not None and not (home / membership.FILE_NAME).exists():
            authorities.keep(home, ca.read_bytes())
        taken = ticket_of(ticket)
        settings = agent_toml.load(home, config)
        rows = None
        if taken.weight_cap is not None and (data is not None or settings.data.file is not None):
            rows = own_rows.count(file_of(data, settings), settings, unit)
        connect = partial(Api, tls=authorities.load(home), proxy=settings.connection.proxy)
        receipt = enrolment.enrol(home, taken, connect, rows)
        say(f"enrolled as {receipt.client}, a {receipt.role} of {receipt.federation}; keep {home} safe and to yourself")
        declared = declaration.load(home)
        if declared is not None:
            say(f"declared {declared.message.weight} rows: everybody can read this in the roster and the audit log")
        # The own key's, not the receipt's: whoever signs the roster compares it with what its owner says.
        say(f"key id {signatures.key_id(signatures.public_bytes(identity.load(home)))}")


@app.command()
def leave(
    home: Home = DEFAULT_HOME,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Leave the federation for good.

    This client can then take part and fetch priors no more. What it contributed to rounds that are closed cannot be
    taken back.
    """
    with telling():
        known = membership.load(home)
        if not yes:
            typer.confirm(f"leave {known.federation} as {known.client}, for good?", abort=True)
        with membership.connect(home) as api:
            enrolment.leave(home, api)
        say(f"{known.client} left {known.federation}; {home} may be removed")


@app.command()
def sign_request(
    method: Annotated[str, typer.Argument(help="GET, HEAD, PUT, POST or DELETE.")],
    path: Annotated[str, typer.Argument(help="From the address on, with its query, as in /v1/federations/F/priors/1.")],
    body: Annotated[Path | None, typer.Option("--body", help="File with the very bytes that will be sent.")] = None,
    home: Home = DEFAULT_HOME,
) -> None:
    """Print the header fields that sign a request, for curl -H @FILE; they serve once, within two minutes."""
    with telling():
        typer.echo("\n".join(signed_request.lines(home, method, path, body.read_bytes() if body else b"")))


if __name__ == "__main__":
    app()

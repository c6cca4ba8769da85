"""`fgpr-operator`: what operators and auditors of an aggregator do from their own machines (docs/roles.md)."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from client_agent import staff
from client_agent.events import one_line
from fgpr import environment_variables, private_keys, signatures, toml
from fgpr.errors import EncodingError, FgprError
from fgpr.operator_rest import (
    ClientList,
    FederationLine,
    FederationList,
    FederationRequest,
    IssuedTicket,
    OpenedRound,
    RoundDetails,
    StateRequest,
    TicketRequest,
)
from fgpr.rest import RoundList
from fgpr.staff import StaffTicket

app = typer.Typer(
    help="Operate an FGPR aggregator, or look after it, from another machine.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Home = Annotated[
    Path,
    typer.Option("--home", envvar="FGPR_OPERATOR_HOME", help="Folder of your key.", show_default="~/.fgpr-operator"),
]
Federation = Annotated[str, typer.Option("--federation", help="Name of the federation.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; it stands in the audit log.")]

_DEFAULT_HOME = Path.home() / ".fgpr-operator"
_PREFIX = "/v1/operator/federations"


@app.command()
def enrol(
    ticket: Annotated[str, typer.Option("--ticket", help="The ticket itself, @FILE, or - for standard input.")],
    home: Home = _DEFAULT_HOME,
) -> None:
    """Take up a ticket. If the answer gets lost, the same command asks for it again."""
    with _told():
        text = sys.stdin.read() if ticket == "-" else ticket
        text = Path(text[1:]).read_text(encoding="utf-8") if text.startswith("@") else text
        receipt = staff.enrol(home, StaffTicket.from_text(text))
        typer.echo(f"enrolled as {receipt.name}, {receipt.role}; key id {receipt.key_id}; keep {home} to yourself")


@app.command()
def federations(home: Home = _DEFAULT_HOME) -> None:
    """Every federation and where it stands, as JSON."""
    with _told(), staff.connect(home) as api:
        _print([line.to_json() for line in FederationList.decode(api.get(_PREFIX)).federations])


@app.command()
def create(
    file: Annotated[Path, typer.Argument(help="TOML file; docs/walkthrough.md shows one.")],
    roster_key: Annotated[
        Path | None, typer.Option(help="Public roster key in PEM, where the private one is held elsewhere.")
    ] = None,
    home: Home = _DEFAULT_HOME,
) -> None:
    """Create a federation from its TOML file."""
    with _told(), staff.connect(home) as api:
        key = None
        if roster_key is not None:
            key = private_keys.public_from_pem(roster_key.read_bytes(), str(roster_key)).public_bytes_raw()
        try:
            settings = FederationRequest.from_json({"settings": toml.parse(file.read_bytes())})
        except EncodingError as error:
            raise EncodingError(f"{file}: {error}") from error
        request = settings.model_copy(update={"roster_key": key})
        line = FederationLine.decode(api.post(_PREFIX, request.encode()))
        typer.echo(f"federation {line.name} is created")


@app.command()
def invite(
    party: Annotated[str, typer.Argument(help="Id of the party: a-z, 0-9 and -, at most 64.")],
    federation: Federation,
    reader: Annotated[bool, typer.Option("--reader", help="Fetches priors only; takes part in no round.")] = False,
    days: Annotated[int, typer.Option(min=1, max=365, help="Days until the ticket expires.")] = 7,
    home: Home = _DEFAULT_HOME,
) -> None:
    """Print a one-time ticket for a party. Hand it over by a way that nobody else reads."""
    with _told(), staff.connect(home) as api:
        request = TicketRequest.from_json({"client": party, "role": "reader" if reader else "client", "days": days})
        typer.echo(IssuedTicket.decode(api.post(f"{_PREFIX}/{federation}/tickets", request.encode())).ticket)


@app.command()
def clients(federation: Federation, home: Home = _DEFAULT_HOME) -> None:
    """The parties of a federation, revoked ones included, as JSON."""
    with _told(), staff.connect(home) as api:
        _print([line.to_json() for line in ClientList.decode(api.get(f"{_PREFIX}/{federation}/clients")).clients])


@app.command()
def revoke(
    party: Annotated[str, typer.Argument(help="Id of the party.")], federation: Federation, home: Home = _DEFAULT_HOME
) -> None:
    """Revoke a party at once."""
    with _told(), staff.connect(home) as api:
        api.delete(f"{_PREFIX}/{federation}/clients/{party}")
        typer.echo(f"{party} is revoked in {federation}")


@app.command()
def rounds(federation: Federation, home: Home = _DEFAULT_HOME) -> None:
    """The newest rounds, as JSON."""
    with _told(), staff.connect(home) as api:
        _print([line.to_json() for line in RoundList.decode(api.get(f"{_PREFIX}/{federation}/rounds")).rounds])


@app.command("round")
def show_round(
    number: Annotated[int, typer.Argument(help="The round's number.")],
    federation: Federation,
    home: Home = _DEFAULT_HOME,
) -> None:
    """One round as JSON: its signed plan, its cohort, who opened."""
    with _told(), staff.connect(home) as api:
        _print(RoundDetails.decode(api.get(f"{_PREFIX}/{federation}/rounds/{number}")).details)


@app.command("open-round")
def open_round(federation: Federation, home: Home = _DEFAULT_HOME) -> None:
    """Open a round now, whatever the schedule says."""
    with _told(), staff.connect(home) as api:
        opened = OpenedRound.decode(api.post(f"{_PREFIX}/{federation}/rounds", b""))
        typer.echo(f"round {opened.round} is open")


@app.command()
def pause(federation: Federation, reason: Reason, home: Home = _DEFAULT_HOME) -> None:
    """Open no further round; the running one goes on to its end."""
    with _told():
        _change(home, federation, "paused", reason)


@app.command()
def resume(federation: Federation, reason: Reason, home: Home = _DEFAULT_HOME) -> None:
    """Let rounds open again."""
    with _told():
        _change(home, federation, "resumed", reason)


@app.command()
def close(
    federation: Federation,
    reason: Reason,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    home: Home = _DEFAULT_HOME,
) -> None:
    """Close a federation for good."""
    with _told():
        if not yes:
            typer.confirm(f"close {federation}, for good?", abort=True)
        _change(home, federation, "closed", reason)


@app.command()
def release(
    federation: Federation,
    reason: Reason,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    home: Home = _DEFAULT_HOME,
) -> None:
    """Let a carried theta's next round have another roster; docs/roles.md says what that costs."""
    with _told():
        if not yes:
            typer.confirm(f"give up the old roster of {federation} for the carried theta?", abort=True)
        _change(home, federation, "released", reason)


@app.command("rotate-key")
def rotate_key(home: Home = _DEFAULT_HOME) -> None:
    """Replace your key, signed by the old one. If this is interrupted, run it again."""
    with _told():
        key = staff.rotate_key(home)
        typer.echo(f"the key is replaced; key id {signatures.key_id(signatures.public_bytes(key))}")


@app.command()
def leave(home: Home = _DEFAULT_HOME, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False) -> None:
    """Give up your key for good."""
    with _told(), staff.connect(home) as api:
        name = staff.load(home).name
        if not yes:
            typer.confirm(f"give up the key of {name}, for good?", abort=True)
        api.delete(f"/v1/operator/staff/{name}")
        typer.echo(f"{name} is revoked; {home} may be removed")


def _change(
    home: Path, federation: str, state: Literal["paused", "resumed", "closed", "released"], reason: str
) -> None:
    with staff.connect(home) as api:
        request = StateRequest.from_json({"state": state, "reason": reason})
        line = FederationLine.decode(api.put(f"{_PREFIX}/{federation}/state", request.encode()))
        typer.echo(f"federation {federation} is {'released' if state == 'released' else line.state}")


def _print(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2))


@contextmanager
def _told() -> Iterator[None]:
    """Whatever is raised on purpose ends the command with one line and exit code 1; so does a mistyped variable."""
    try:
        environment_variables.check(environment_variables.AGENT, os.environ)
        yield
    except (FgprError, OSError, UnicodeDecodeError) as error:
        typer.echo(one_line(f"fgpr-operator: {error}"), err=True)
        raise typer.Exit(1) from None


if __name__ == "__main__":
    app()

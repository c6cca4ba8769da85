"""`fgpr-agent status`: where an agent stands, read from its home while it runs or not; asks nobody."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from client_agent import agent_toml, ledger, lock, membership, owner_floors, published_prior, status_file, trail
from client_agent.agent_toml import FloorSection
from client_agent.command_line import DEFAULT_DELTA, DEFAULT_HOME, Config, Home, say, telling
from client_agent.journal import read_numbers
from client_agent.membership import Membership
from client_agent.status_file import Status
from fgpr.federated import accounting


def show(
    home: Home = DEFAULT_HOME,
    config: Config = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show where this agent stands: rounds, prior, what was sent, privacy, checkpoint, floors. Asks nobody.

    Works beside a running agent, and without a net. Exit code 0 whether it runs or not; 1 where the home is none.
    """
    with telling():
        told = gather(home, config, datetime.now(UTC))
        if as_json:
            typer.echo(json.dumps(told, indent=2))
        else:
            for line in _lines(told):
                say(line)


def gather(home: Path, config: Path | None, now: datetime) -> dict[str, Any]:
    """All that is shown, as JSON.

    Args:
        home: of an enrolled party.
        config: the owner's settings, where they are not in the home.
        now: the present time, for ages.

    Raises:
        LocalProtocolError: the home is enrolled nowhere.
        EncodingError, VerificationError, OSError: a file of it is damaged, or cannot be read.
    """
    known, status = membership.load(home), status_file.read(home)
    running = lock.is_held(home / lock.HOME_LOCK)
    numbers, checkpoint = read_numbers(home), trail.kept(home)
    charges = ledger.read(home)
    return {
        "federation": known.federation,
        "client": known.client,
        "role": known.role,
        "aggregator": known.origin,
        "running": running,
        "process": status.process if running else None,
        "since": status.started if running else None,
        "rounds": {"served": status.served, "last_seen": numbers.last_round, "last_ended": numbers.ended},
        "prior": _prior(home, known, numbers.prior_version, now),
        "sent": {
            "count": status.sent_count,
            "bytes": status.sent_bytes,
            "newest": [body.to_json() for body in status.sent],
        },
        "privacy": {
            "rounds": len(charges.charges),
            "rho": charges.rho,
            "delta": DEFAULT_DELTA,
            # Without a charge there is nothing to account, and accounting takes a second to load.
            "epsilon": accounting.epsilon(charges.rho, DEFAULT_DELTA) if charges.charges else 0.0,
        },
        "checkpoint": None if checkpoint is None else checkpoint.to_json(),
        "floors": _floors(home, config, status, running),
        "data": status.data,
        "events": [event.to_json() for event in status.events],
    }


def _prior(home: Path, known: Membership, in_plans: int, now: datetime) -> dict[str, Any]:
    fetched: dict[str, Any] = {"version": None, "age_seconds": None}
    if published_prior.kept_view(home, known) is not None:
        kept = published_prior.kept(home)
        fetched = {"version": kept.record.version, "age_seconds": round(kept.age(now).total_seconds())}
    return {"newest_in_a_plan": in_plans, "fetched": fetched}


def _floors(home: Path, config: Path | None, status: Status, running: bool) -> dict[str, Any]:
    if running and status.floors:
        return {"from": "the running agent", **status.floors}
    said = owner_floors.stricter(FloorSection(), agent_toml.load(home, config).floors)
    floors = owner_floors.as_json(owner_floors.floors_of(said), owner_floors.budget_of(said))
    return {"from": "agent.toml and defaults, as at the next start without options", **floors}


def _lines(told: dict[str, Any]) -> list[str]:
    rounds, prior, sent, privacy = told["rounds"], told["prior"], told["sent"], told["privacy"]
    state = f"runs since {told['since']} as process {told['process']}" if told["running"] else "is not running"
    lines = [
        f"{told['client']}, a {told['role']} of {told['federation']} at {told['aggregator']}, {state}",
        f"rounds:     {rounds['served']} served; the newest one seen is {rounds['last_seen']}",
    ]
    fetched = prior["fetched"]
    age = (
        "none was fetched"
        if fetched["version"] is None
        else (f"prior {fetched['version']} was fetched {_age(fetched['age_seconds'])} ago")
    )
    lines.append(f"prior:      {age}; the newest one in a plan is {prior['newest_in_a_plan']}")
    lines.append(f"sent:       {sent['count']} bodies, {sent['bytes']} bytes; rows never are")
    lines += [
        f"            {body['at']}  round {body['round']}: {body['what']}, {body['size']} bytes"
        for body in sent["newest"][-5:]
    ]
    lines.append(
        f"privacy:    {privacy['rounds']} rounds under differential privacy cost epsilon {privacy['epsilon']:.4g} at "
        f"delta {privacy['delta']:g}"
    )
    held = told["checkpoint"]
    lines.append(
        "checkpoint: none is held" if held is None else f"checkpoint: {held['size']} leaves, root {held['root']}"
    )
    floors = {name: value for name, value in told["floors"].items() if name != "from" and value not in (None, [])}
    lines.append(f"floors:     {', '.join(f'{name} {_spell(value)}' for name, value in floors.items())}")
    lines.append(f"            ({told['floors']['from']})")
    if told["data"] is not None:
        lines.append(f"data:       {told['data']['used']} of {told['data']['read']} rows of {told['data']['file']}")
    lines += [f"            {event['at']}  {_about(event['round'])}{event['text']}" for event in told["events"][-3:]]
    return lines


def _about(number: int) -> str:
    return f"round {number}: " if number else ""


def _spell(value: Any) -> str:
    return (
        f"{len(value)} key ids" if isinstance(value, list) else f"{value:g}" if isinstance(value, float) else str(value)
    )


def _age(seconds: int) -> str:
    for size, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} seconds"

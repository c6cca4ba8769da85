"""`fgpr-agent privacy`: what the rounds have cost this client."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from client_agent import ledger, membership
from client_agent.command_line import DEFAULT_DELTA, DEFAULT_HOME, Delta, Epsilon, Home, budget_of, say, telling
from fgpr.federated import accounting
from fgpr.federated.published_privacy import PublishedPrivacy


def show(
    home: Home = DEFAULT_HOME,
    epsilon: Epsilon = None,
    delta: Delta = DEFAULT_DELTA,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what the rounds that this client contributed to have cost it in privacy; asks nobody.

    With --epsilon, what is left of that budget.
    """
    budget = budget_of(epsilon, delta)
    with telling():
        known, charges = membership.load(home), ledger.read(home)
        spent = accounting.epsilon(charges.rho, budget.delta)
        replaced = accounting.epsilon(accounting.REPLACED * charges.rho, budget.delta)
        left = None if budget.epsilon is None else max(0.0, budget.epsilon - spent)
        if as_json:
            told = {
                "federation": known.federation,
                "client": known.client,
                "rho": charges.rho,
                "delta": budget.delta,
                "epsilon": spent,
                "epsilon_replaced": replaced,
                "budget": budget.epsilon,
                "left": left,
                "rounds": [charge.to_json() for charge in charges.charges],
            }
            typer.echo(json.dumps(told, indent=2))
            return
        say(
            f"{known.client} of {known.federation}: {len(charges.charges)} rounds cost epsilon {spent:.4g} at delta "
            f"{budget.delta:g} against taking no part ({replaced:.4g} against other data)"
        )
        if budget.epsilon is not None:
            say(f"epsilon {left:.4g} of {budget.epsilon:g} is left")
        table = Table("round", "noise over clip", "carried by", "rho")
        for charge in charges.charges:
            table.add_row(
                str(charge.round), f"{charge.sigma / charge.clip:.4g}", str(charge.carriers), f"{charge.rho:.4g}"
            )
        Console().print(table)


def cost(privacy: PublishedPrivacy) -> str:
    """What a prior says of its privacy, for people."""
    clamped = f"; noise carried to its bound: {', '.join(privacy.clamped)}" if privacy.clamped else ""
    return (
        f"{privacy.rounds} rounds cost a client that took part in each epsilon {privacy.epsilon:.4g} at delta "
        f"{privacy.delta:g}{clamped}"
    )

"""The floors and the budget in force: of what agent.toml and the command line say, the stricter, each by itself.

What neither says is the default of `fgpr.secagg.history.Floors`. The aggregator has no part in this.
"""

from dataclasses import asdict, fields
from typing import Any

from client_agent.agent_toml import FloorSection
from client_agent.command_line import DEFAULT_DELTA
from fgpr.federated.accounting import Budget
from fgpr.secagg.history import Floors
from fgpr.secagg.suites import ORDER

_LEAST = {"weight_cap", "carries", "groups", "epsilon", "delta"}
"""Of these, the lesser number is the stricter."""


def stricter(one: FloorSection, other: FloorSection) -> FloorSection:
    """Of each floor, the stricter of two; the one that is said where the other is not."""
    return FloorSection(**{name: _stricter(name, getattr(one, name), getattr(other, name)) for name in _names()})


def floors_of(said: FloorSection) -> Floors:
    """The floors; defaults for what is not said."""
    given = {each.name: getattr(said, each.name) for each in fields(Floors)}
    return Floors(**{name: value for name, value in given.items() if value is not None})


def budget_of(said: FloorSection) -> Budget:
    """The budget; no limit where none is said."""
    return Budget(epsilon=said.epsilon, delta=DEFAULT_DELTA if said.delta is None else said.delta)


def as_json(floors: Floors, budget: Budget) -> dict[str, Any]:
    """Floors and budget for machines and the status of an agent."""
    told = asdict(floors) | {"epsilon": budget.epsilon, "delta": budget.delta}
    peers = {name: sorted(told[name]) for name in ("required_peers", "accepted_peers") if told[name] is not None}
    return told | peers


def _names() -> list[str]:
    return list(FloorSection.model_fields)


def _stricter(name: str, one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    if name == "suite":
        return max(one, other, key=ORDER.index)
    if name == "required_peers":
        return one | other
    if name == "accepted_peers":
        return one & other
    return min(one, other) if name in _LEAST else max(one, other)

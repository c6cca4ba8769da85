"""What is played while the aggregator is killed: a round that is published, one that is proven void, one carried.

Each act is one thing that one party does, with all the requests that it takes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kills.site import Site
from support.aggregator import CONTRIBUTE_SECONDS, OPEN_SECONDS

CLIENTS = ("client-00", "client-01", "client-02")
"""Three, the fewest that can: all have to contribute and to open."""

ENDS = {"round 1": ("published",), "round 2": ("published", "void"), "round 3": ("published", "void", "carried")}
"""How the rounds have ended by the end of each chapter, whatever was killed in it."""


@dataclass(frozen=True)
class Act:
    """One step.

    Attributes:
        chapter: the round that it belongs to; after a fault that round is played to its end.
        name: for people.
        play: does it, again until it has succeeded.
    """

    chapter: str
    name: str
    play: Callable[[Site], None]


def acts() -> list[Act]:
    """All of them, in order."""
    first, second, third = ENDS
    found: list[Act] = []

    def add(chapter: str, name: str, act: Callable[..., None], *arguments: Any) -> None:
        found.append(Act(chapter, name, lambda site: act(site, *arguments)))

    for client in CLIENTS:
        add(first, f"invite {client}", Site.invite, client)
        add(first, f"enrol {client}", Site.enrol, client)
    add(first, "open the round", _look)
    for client in CLIENTS:
        add(first, f"{client} contributes", Site.contribute, client)
    for client in CLIENTS:
        add(first, f"{client} opens", Site.open, client)
    add(first, "purge", _look)
    for client in CLIENTS[:2]:
        add(second, f"{client} contributes", Site.contribute, client)
    add(second, "client-02 checks the plan", _check_plan, "client-02")
    add(second, "the deadline finds too few contributions", _look, CONTRIBUTE_SECONDS)
    for client in CLIENTS:
        add(second, f"{client} proves it void", Site.open_nothing, client)
    for client in CLIENTS:
        add(third, f"{client} contributes", Site.contribute, client)
    add(third, "client-00 opens", Site.open, "client-00")
    add(third, "the deadline finds too few openings", _look, CONTRIBUTE_SECONDS + OPEN_SECONDS)
    add(third, "the deadline carries", _look, OPEN_SECONDS)
    add(third, "revoke client-02", _revoke, "client-02")
    return found


def _look(site: Site, seconds: float = 0.0) -> None:
    site.clock.forward(seconds)
    site.operate("look")


def _check_plan(site: Site, client: str) -> None:
    site.persist(site.parties[client].check)


def _revoke(site: Site, client: str) -> None:
    site.operate("revoke", client)

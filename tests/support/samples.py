"""One message of every kind, as they come out of real rounds: one published, one void, one carried."""

from functools import cache
from typing import Any

import numpy as np

from fgpr.federated.publication import PriorRecord
from fgpr.message import Message, Signed
from fgpr.secagg.complaint import complain
from fgpr.secagg.messages import Complaint, VoidProof
from fgpr.secagg.stages import Event
from support.federation import Federation


@cache
def federation() -> Federation:
    """Four clients after a published round, a void one and a carried one; the fourth is closed and half opened."""
    made = Federation(4)
    made.run(dict.fromkeys(made.names, ((0.1, -0.2, 0.3), 5)))
    for voting in (made.names, ()):
        made.plan()
        for name in made.names[:2]:
            made.contribute(name, np.zeros(3))
        made.abort(Event.TOO_FEW_CONTRIBUTIONS)
        for name in voting:
            made.open(name)
        made.settle()
    made.plan()
    for name in made.names:
        made.contribute(name, np.zeros(3), 3)
    made.close()
    made.open(made.names[1])
    return made


@cache
def of_a_round() -> tuple[Message, ...]:
    """The messages of rounds, the outer ones and the parts of which they are made."""
    made = federation()
    now, void = made.now, made.rounds[2]
    plan, roster = now.plan.message, now.roster.message
    contribution, answer = now.contributions[made.names[0]], now.openings[made.names[1]]
    assert now.cohort is not None
    assert void.empty is not None
    key = plan.seats[0].key
    assert key is not None
    view = made.view(made.names[0], now.cohort)
    cohort = now.cohort.message
    return (
        now.roster,
        roster,
        roster.clients[0],
        now.plan,
        made.rounds[3].plan.message,
        plan.seats[0],
        plan.seats[0].model_copy(update={"key": None}),
        key.message,
        plan.checkpoint,
        contribution,
        contribution.header.message,
        now.cohort,
        cohort,
        cohort.members[0],
        view,
        view.entries[0],
        answer,
        answer.message,
        VoidProof(cohort=void.empty, openings=tuple(void.openings.values())),
        made.rules,
        signed_complaint().message,
        signed_complaint().message.boxes[0],
    )


@cache
def signed_complaint() -> Signed[Complaint]:
    """The first client's complaint of the second one's box; nothing is wrong with that box."""
    made = federation()
    assert made.now.cohort is not None
    name, accused = made.names[:2]
    view = made.view(name, made.now.cohort)
    return complain(made.check(name), view, name, made.clients[name].identity_key, [accused])


@cache
def priors() -> tuple[PriorRecord, ...]:
    """The initial prior, an averaged one and a carried one."""
    return tuple(federation().priors)


@cache
def signed_prior() -> Signed[PriorRecord]:
    """The averaged prior, signed."""
    return Signed[PriorRecord].make(federation().service_key, priors()[1])


def titled(message: Message) -> str:
    """The name of a message's class, for test ids."""
    return type(message).__name__


def leaves_of(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    """Every scalar of a JSON value with the way to it."""
    if isinstance(value, dict):
        return [found for key, inner in value.items() for found in leaves_of(inner, (*path, key))]
    if isinstance(value, list):
        return [found for place, inner in enumerate(value) for found in leaves_of(inner, (*path, place))]
    return [(path, value)]


def with_leaf(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    """A copy of a JSON value with one scalar changed."""
    if not path:
        return new
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = with_leaf(value[path[0]], path[1:], new)
    return copy

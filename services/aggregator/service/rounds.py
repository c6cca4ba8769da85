"""What requests of a round have in common: whose they are, what they find, and the cohort that members fetch."""

from collections.abc import Iterable, Sequence

from aggregator.service.admission import Holders, authorise_client, holders_of
from aggregator.service.caller import Caller
from aggregator.service.context import Context
from aggregator.service.sent_bodies import tried
from aggregator.service.together import judged
from aggregator.storage import clients, contributions, federations, retired_keys, rounds
from aggregator.storage.clients import ClientRow
from aggregator.storage.engine import Connection
from aggregator.storage.rounds import RoundRow
from fgpr.errors import Conflict, Forbidden, TooLate, UnknownResource
from fgpr.secagg.messages import Plan
from fgpr.secagg.roster import Roster
from fgpr.secagg.stages import Stage


def may_be_full(connection: Connection, plan: Plan) -> bool:
    """Whether as many contributions are in as there can be: with more than those of whom the roster cannot speak.

    Asked after each one and true after the last one, so that nothing but numbers is compared.
    """
    gone = clients.count_revoked(connection, plan.federation) + retired_keys.count_all(connection, plan.federation)
    return contributions.count(connection, plan.federation, plan.round) + gone >= len(plan.invited)


def cohort(context: Context, callers: Sequence[Caller], federation: str, number: int) -> Sequence[bytes | Exception]:
    """The cohort of a round as each calling member gets it, with its own box of each contribution; JSON.

    Returns:
        For each caller that, or its refusal: UnknownResource where the round is not closed, Forbidden where the caller
        has no seat, TooLate where the round has ended and the boxes are erased.
    """
    with context.database.read() as connection:
        holders = holders_of(connection, callers)
        looks = judged(
            lambda caller: authorise_client(connection, caller, federation, holders),
            callers,
            lambda: rounds.read(connection, federation, number),
        )
        pairs = [
            look if isinstance(look, Exception) else (look, holders[caller.key_id])
            for look, caller in zip(looks, callers, strict=True)
        ]
        return tried(lambda pair: _boxes_of(context, connection, *pair), pairs)


def _boxes_of(context: Context, connection: Connection, row: RoundRow, member: ClientRow) -> bytes:
    federation, number = row.federation, row.number
    seat = row.plan.message.seat_of(member.client)
    if seat is None:
        raise Forbidden(f"{member.client} has no seat in round {number}")
    if row.cohort is None:
        raise UnknownResource(f"round {number} has no cohort: it is in stage {row.stage.value}")
    if row.stage is not Stage.OPENING:
        raise too_late(connection, row, "openings")
    return context.boxed.view(row.cohort, seat, lambda: contributions.read_all(connection, federation, number))


def roster_of(connection: Connection, row: RoundRow) -> Roster:
    """The roster that a round's plan names."""
    roster = federations.read_roster(connection, row.federation, row.plan.message.roster_version)
    if roster is None:
        raise UnknownResource(f"roster {row.plan.message.roster_version} of {row.federation} is gone")
    return roster.message


def check_key(roster: Roster, sender: ClientRow, number: int) -> None:
    """Check that the roster of a round names the key that the client has now.

    Raises:
        Conflict: it was replaced since; what the old key signs is not taken any more.
    """
    entry = roster.entry(sender.client)
    if entry is not None and entry.identity_key != sender.identity_key:
        raise Conflict(
            f"{sender.client} replaced the key that the roster of round {number} names: it takes part again "
            "from the first round whose roster names the new one"
        )


def check_sender(context: Context, caller: Caller, federation: str, client: str) -> None:
    """Check that the caller may act for this client, before its body is looked at.

    Raises:
        Unauthenticated, Forbidden: it may not.
    """
    with context.database.read() as connection:
        sender_of(connection, caller, federation, client)


def enter(
    context: Context, connection: Connection, caller: Caller, federation: str, number: int, client: str
) -> tuple[RoundRow, ClientRow]:
    """The round and the client of a request that has an effect: the federation is locked, the nonce spent.

    Raises:
        Unauthenticated, Forbidden: the caller may not act for this client.
        UnknownResource: there is no such round.
    """
    sender = begin(context, connection, caller, federation, client)
    return rounds.read(connection, federation, number), sender


def begin(context: Context, connection: Connection, caller: Caller, federation: str, client: str) -> ClientRow:
    """The client of a request that has an effect: the federation is locked, the nonce spent.

    Raises:
        Unauthenticated, Forbidden: the caller may not act for this client.
    """
    return admit(connection, caller, federation, client, begin_all(context, connection, [caller], federation))


def begin_all(context: Context, connection: Connection, callers: Iterable[Caller], federation: str) -> Holders:
    """The parties behind requests that have an effect, for `admit`: the federation is locked."""
    federations.lock(connection, federation)
    clients.forget_nonces(connection, context.clock())
    # After the lock, for which a revocation waits or comes first.
    return holders_of(connection, callers)


def admit(connection: Connection, caller: Caller, federation: str, client: str, holders: Holders) -> ClientRow:
    """The client of one of those requests, whose nonce is spent.

    Raises:
        Unauthenticated, Forbidden: the caller may not act for this client.
    """
    sender = sender_of(connection, caller, federation, client, holders)
    clients.spend_nonce(connection, caller.key_id, caller.nonce, caller.nonce_expires)
    return sender


def sender_of(
    connection: Connection, caller: Caller, federation: str, client: str, holders: Holders | None = None
) -> ClientRow:
    """The client that a request is from.

    Raises:
        Unauthenticated, Forbidden: the caller may not act for this client.
    """
    sender = authorise_client(connection, caller, federation, holders)
    if sender.client != client:
        raise Forbidden(f"{sender.client} cannot act for {client}")
    return sender


def too_late(connection: Connection, row: RoundRow, what: str) -> TooLate:
    """The refusal of what a round takes no more, with the present round."""
    last = rounds.read_last(connection, row.federation)
    current = row.number if last is None else last.number
    return TooLate(
        f"round {row.number} is in stage {row.stage.value} and takes no {what}; nothing was stored. "
        f"The present round is {current}",
        current_round=current,
        stage=row.stage.value,
    )

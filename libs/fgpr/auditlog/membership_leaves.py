"""What leaves about federations and their parties have to hold to, one function a kind."""

from collections.abc import Mapping

from fgpr.auditlog.entries import (
    Enrolled,
    FederationCreated,
    KeyReplaced,
    OpeningKeyRegistered,
    RosterSigned,
    StateChanged,
    TicketIssued,
)
from fgpr.auditlog.positions import check_position
from fgpr.auditlog.rostered import Admitted, check_members
from fgpr.auditlog.trail import Fixed, Trail, add, require
from fgpr.federated.publication import codec_for


def follow_creation(trail: Trail, leaf: FederationCreated, roster_keys: Mapping[str, bytes]) -> None:
    """A federation is created once, under the roster key that is known of it."""
    name = leaf.federation
    require(leaf.settings.name == name, f"the settings are those of {leaf.settings.name}")
    known = roster_keys.get(name, leaf.roster_key)
    require(known == leaf.roster_key, f"federation {name} was created with another roster key than the known one")
    add(trail.federations, name, leaf, f"federation {name}")
    trail.states[name] = "open"
    settings = leaf.settings
    codec = codec_for(settings.spec(), settings.aggregation)
    trail.fixed[name] = Fixed(codec, settings.training_settings().to_json())


def follow_ticket(trail: Trail, leaf: TicketIssued) -> None:
    """A ticket is for a party that is not enrolled, while the federation is not closed."""
    _require_open(trail, leaf.federation)
    require((leaf.federation, leaf.client) not in trail.enrolled, f"{leaf.client} gets a ticket and is enrolled")
    add(trail.tickets, leaf.ticket, leaf, f"the ticket of {leaf.client}")


def follow_enrolment(trail: Trail, index: int, leaf: Enrolled) -> None:
    """A party takes up its ticket, once, with a key of its own, and declares a weight where the federation asks."""
    party = leaf.federation, leaf.client
    _require_open(trail, leaf.federation)
    ticket = trail.tickets.get(leaf.ticket)
    named = None if ticket is None else (ticket.federation, ticket.client, ticket.role)
    require(named == (*party, leaf.role), f"{leaf.client} takes up a ticket that was not made for it as a {leaf.role}")
    require(leaf.ticket not in trail.taken, f"{leaf.client} takes up a ticket that was taken up before")
    add(trail.enrolled, party, leaf.identity_key, f"the enrolment of {leaf.client}")
    _check_fresh(trail, leaf.client, leaf.identity_key)
    asks = trail.federations[leaf.federation].settings.aggregation.draw == "weights" and leaf.role == "client"
    require((leaf.declared is not None) == asks, f"{leaf.client} declares a weight unasked, or none where one is asked")
    if leaf.declared is not None:
        declared = leaf.declared.message
        require((declared.federation, declared.client) == party, f"{leaf.client} declares {declared.client}'s weight")
        leaf.declared.verify(leaf.identity_key)
        trail.declared[party] = (leaf.declared,)
    trail.taken.add(leaf.ticket)
    trail.held[party], trail.holders[leaf.identity_key] = ((index, leaf.identity_key),), party
    trail.roles[party], trail.opening_keys[party] = leaf.role, {}


def follow_opening_key(trail: Trail, leaf: OpeningKeyRegistered) -> None:
    """A client that takes part gets one opening key a serial."""
    party = leaf.federation, leaf.client
    require(trail.roles.get(party) == "client", f"{leaf.client} has an opening key and is no client")
    require(party not in trail.revoked, f"{leaf.client} was revoked, and has another opening key all the same")
    add(trail.opening_keys[party], leaf.serial, leaf.key, f"opening key {leaf.serial} of {leaf.client}")


def follow_revocation(trail: Trail, index: int, federation: str, client: str) -> None:
    """Who is revoked was enrolled, and is revoked once."""
    party = federation, client
    require(party in trail.enrolled, f"{client} is revoked and was never enrolled")
    add(trail.revoked, party, index, f"the revocation of {client}")


def follow_rotation(trail: Trail, index: int, leaf: KeyReplaced) -> None:
    """Both keys sign the change; the weight that was declared stays."""
    party, change = (leaf.federation, leaf.client), leaf.rotation.change
    require((change.federation, change.holder) == party, f"the key change is not {leaf.client}'s")
    require(party not in trail.revoked, f"{leaf.client} was revoked, and has another key all the same")
    require(trail.enrolled.get(party) == change.old_key, f"{leaf.client} does not have the key that is replaced")
    leaf.rotation.verify()
    _check_fresh(trail, leaf.client, change.new_key)
    before = trail.declared.get(party, ())
    declared = () if leaf.declared is None else (leaf.declared,)
    same = [signed.message for signed in declared] == [signed.message for signed in before[-1:]]
    require(same, f"{leaf.client} declares another weight under its new key")
    for signed in declared:
        signed.verify(change.new_key)
    trail.enrolled[party], trail.holders[change.new_key] = change.new_key, party
    trail.held[party] = (*trail.held[party], (index, change.new_key))
    if declared:
        trail.declared[party] = before + declared


def follow_state(trail: Trail, leaf: StateChanged) -> None:
    """Nothing changes any more once a federation is closed; only a carried theta is released from its roster."""
    name, prior = leaf.federation, trail.newest_prior(leaf.federation)
    _require_open(trail, name)
    if leaf.state != "released":
        trail.states[name] = "open" if leaf.state == "resumed" else leaf.state
        return
    carried = prior is not None and prior.theta_version != prior.version
    require(carried, "a theta is released from its roster that was not carried")
    trail.released[name] = 0 if prior is None else prior.version


def follow_roster(trail: Trail, index: int, leaf: RosterSigned) -> None:
    """The next version, signed by the roster key: every client that is enrolled at its checkpoint, as it is there."""
    name, roster = leaf.federation, leaf.roster.message
    require(roster.federation == name, f"the roster is one of {roster.federation}")
    leaf.roster.verify(trail.federations[name].roster_key)
    newest = trail.newest_roster(name)
    require(roster.version == newest + 1, f"roster {roster.version} follows version {newest}")
    check_position(trail, index, roster.checkpoint, _size_before(trail, name))
    check_members(roster, _admitted(trail, name, roster.checkpoint.size))
    roster.verify_declared()
    for entry in roster.clients:
        known = [signed.message for signed in trail.declared.get((name, entry.client), ())[-1:]]
        named = [] if entry.declared is None else [entry.declared.message]
        require(named == known, f"{entry.client} declared another weight when it enrolled")
    trail.add_roster(leaf.roster)


def _size_before(trail: Trail, name: str) -> int:
    """Leaves that the roster before counts: membership does not go back behind them."""
    newest = trail.rosters.get((name, trail.newest_roster(name)))
    return 0 if newest is None else newest.message.checkpoint.size


def _admitted(trail: Trail, name: str, size: int) -> dict[str, Admitted]:
    """The clients of a federation as they were when the log had so many leaves."""
    found = {}
    for party, held in trail.held.items():
        keys = [key for place, key in held if place < size]
        if party[0] == name and trail.roles[party] == "client" and keys:
            found[party[1]] = Admitted(keys[-1], trail.revoked.get(party, size) < size)
    return found


def _require_open(trail: Trail, name: str) -> None:
    require(trail.states[name] != "closed", f"federation {name} was closed before")


def _check_fresh(trail: Trail, client: str, key: bytes) -> None:
    require(key not in trail.holders, f"{client} has a key that somebody has or had")

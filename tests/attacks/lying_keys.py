"""Rows 1 and 4 to 4c: keys revoked or replaced and used all the same, or replaced by whoever does not have them."""

from collections.abc import Callable
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator.service import contributing, enrolment, rotation, steering
from attacks.attack import Attack, Play
from fgpr.errors import FgprError, Unauthenticated
from fgpr.rotation import RotationRequest, SignedKeyChange
from support.aggregator import Aggregator, caller_of, served
from support.client import NAME
from support.party import Party

THIEF = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


class Channel:
    """The way to the aggregator: its service called with a caller that was found good, or HTTP."""

    def __init__(self, aggregator: Aggregator, over_http: bool) -> None:
        self.aggregator, self.over_http = aggregator, over_http

    def replace(self, party: Party, body: bytes, victim: str | None = None) -> object:
        """Send a change of a key, by default of one's own."""
        name = victim or party.name
        if self.over_http:
            return party.api.put(f"clients/{name}/key", body)
        caller = caller_of(party, self.aggregator.clock)
        return rotation.replace_client_key(self.aggregator.context, caller, NAME, name, body)

    def contribute(self, party: Party, body: bytes) -> object:
        """Send a contribution to round 1."""
        if self.over_http:
            return party.send_contribution(body, 1)
        caller = caller_of(party, self.aggregator.clock)
        return contributing.contribute(self.aggregator.context, caller, NAME, 1, party.name, body)

    def revoke(self, party: Party, victim: str) -> object:
        """Revoke somebody by the operators' route."""
        if self.over_http:
            return party.api.delete(f"/v1/operator/federations/{NAME}/clients/{victim}")
        return steering.revoke(self.aggregator.context, caller_of(party, self.aggregator.clock), NAME, victim)


def _changed(party: Party, **fields: bytes) -> bytes:
    """A change to the thief's key with other signatures."""
    good = RotationRequest.decode(party.rotation(THIEF))
    return good.model_copy(update={"signed": good.signed.model_copy(update=fields)}).encode()


def _replayed(channel: Channel, parties: list[Party]) -> Callable[[], object]:
    party, body = parties[0], parties[0].rotation(THIEF)
    if channel.over_http:
        channel.replace(party, body)
        request = party.transport.requests[-1]
        return lambda: _refused_as_unauthenticated(party.transport.again(request).status_code)
    context, caller = channel.aggregator.context, caller_of(party, channel.aggregator.clock)
    rotation.replace_client_key(context, caller, NAME, party.name, body)
    return lambda: rotation.replace_client_key(context, caller, NAME, party.name, body)


def _refused_as_unauthenticated(status: int) -> None:
    if status == 401:
        raise Unauthenticated("sent again as it was")


def _by_wrong_old_key(channel: Channel, parties: list[Party]) -> Callable[[], object]:
    mine = SignedKeyChange.make(NAME, parties[0].name, THIEF, THIEF).by_old
    body = _changed(parties[0], by_old=mine)
    return lambda: channel.replace(parties[0], body)


def _to_a_key_of_somebody_else(channel: Channel, parties: list[Party]) -> Callable[[], object]:
    good = RotationRequest.decode(parties[0].rotation(THIEF))
    body = _changed(parties[0], by_new=good.signed.by_old)
    return lambda: channel.replace(parties[0], body)


def _of_another_client(channel: Channel, parties: list[Party]) -> Callable[[], object]:
    body = parties[0].rotation(THIEF)
    return lambda: channel.replace(parties[1], body, victim=parties[0].name)


def _older_change(channel: Channel, parties: list[Party]) -> Callable[[], object]:
    """Back to a key that was replaced: by the bytes that once brought it, under the present key."""
    body = parties[0].rotation(THIEF)
    channel.replace(parties[0], body)
    parties[0].use_key(THIEF)
    parties[0].rotate()
    return lambda: channel.replace(parties[0], body)


def _replaced_key(channel: Channel, parties: list[Party]) -> Callable[[], object]:
    body, old = parties[0].contribution(), parties[0].client.identity_key
    parties[0].rotate()
    parties[0].use_key(old)
    return lambda: channel.contribute(parties[0], body)


def _replaced_key_inside(channel: Channel, parties: list[Party]) -> Callable[[], object]:
    """The request by the new key, its body by the old one, which the running round's roster names."""
    body = parties[0].contribution()
    parties[0].rotate()
    return lambda: channel.contribute(parties[0], body)


def _revoked_key(channel: Channel, parties: list[Party]) -> Callable[[], object]:
    body = parties[0].contribution()
    enrolment.revoke(channel.aggregator.context, NAME, parties[0].name)
    return lambda: channel.contribute(parties[0], body)


def _revoked_key_replaced(channel: Channel, parties: list[Party]) -> Callable[[], object]:
    body = parties[0].rotation(THIEF)
    enrolment.revoke(channel.aggregator.context, NAME, parties[0].name)
    return lambda: channel.replace(parties[0], body)


def _operators_route(channel: Channel, parties: list[Party]) -> Callable[[], object]:
    return lambda: channel.revoke(parties[1], parties[0].name)


Prepare = Callable[[Channel, list[Party]], Callable[[], object]]
"""What comes before the attack; gives the attack itself."""


def _attack(row: str, by: str, name: str, expected: str, prepare: Prepare) -> Attack:
    def on(over_http: bool) -> Play:
        def play(folder: Path) -> str:
            with served(folder, keeps_deadlines=False) as aggregator:
                parties = aggregator.enrol(4)
                aggregator.advance()
                act = prepare(Channel(aggregator, over_http), parties)
                before = aggregator.dump()
                try:
                    act()
                except FgprError as error:
                    return (
                        f"{type(error).__name__}, {'nothing' if aggregator.dump() == before else 'something'} changed"
                    )
                return "taken"

        return play

    wanted = f"{expected}, nothing changed"
    return Attack(row, by, name, {"memory": wanted, "HTTP": wanted}, {"memory": on(False), "HTTP": on(True)})


ATTACKS: list[Attack] = [
    _attack("1", "N", "a request that replaced a key, sent again", "Unauthenticated", _replayed),
    _attack("4", "C1", "a contribution by a revoked key", "Forbidden", _revoked_key),
    _attack("4", "C1", "a revoked key replaced", "Forbidden", _revoked_key_replaced),
    _attack("4a", "C1", "a client on an operator's route", "Forbidden", _operators_route),
    _attack("4c", "C1", "another client's key replaced", "Forbidden", _of_another_client),
    _attack("4c", "N", "a key replaced without the old one's signature", "VerificationError", _by_wrong_old_key),
    _attack("4c", "C1", "a key replaced by one of somebody else", "VerificationError", _to_a_key_of_somebody_else),
    _attack("4c", "N", "back to a key that was replaced", "EncodingError", _older_change),
    _attack("4c", "N", "a contribution sent by a replaced key", "Forbidden", _replaced_key),
    _attack("4c", "C1", "a contribution signed by a replaced key inside", "Conflict", _replaced_key_inside),
]

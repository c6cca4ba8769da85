"""What leaves about federations and parties may not say: each test breaks one check, and the keeper signs it."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr import canonical, merkle, signatures
from fgpr.auditlog import entries
from fgpr.message import Signed
from fgpr.rotation import SignedKeyChange
from fgpr.secagg.declared_weight import DeclaredWeight
from fgpr.secagg.messages import LogPosition
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.roster import RosterEntry
from support.client import NAME
from support.federation import Federation
from support.forged_log import (
    A_THIRD_KEY,
    EXPIRES,
    ITS_NEXT_KEY,
    READER,
    READERS_KEY,
    ForgedLog,
    played,
    position_of,
    readers,
    replaced,
    state,
)

WEIGHED = AggregationRules(weighting="uniform", draw="weights", invited_cap=12, weight_cap=20)


@cache
def _made() -> Federation:
    return played()


@cache
def _weighed() -> Federation:
    made = Federation(12, WEIGHED, weights=dict.fromkeys((f"client-{n:02d}" for n in range(12)), 7), logs_all=True)
    made.plan()
    return made


@pytest.fixture
def log() -> ForgedLog:
    return ForgedLog(_made())


@pytest.fixture
def weighed() -> ForgedLog:
    return ForgedLog(_weighed())


def test_the_log_as_it_is(log: ForgedLog, weighed: ForgedLog) -> None:
    trail = log.verify()
    assert trail.enrolled[NAME, READER] == signatures.public_bytes(ITS_NEXT_KEY)
    size = len(log.leaves)
    assert trail.held[NAME, READER] == (
        (size - 3, signatures.public_bytes(READERS_KEY)),
        (size - 2, trail.enrolled[NAME, READER]),
    )
    assert trail.roles[NAME, READER] == "reader"
    assert trail.states == {NAME: "open"}
    assert trail.epochs == ["e" * 22]
    assert trail.revoked == {(NAME, "client-04"): log.find("revoked")}
    assert len(trail.opening_keys[NAME, "client-00"]) == 4
    assert {one.message.weight for (one,) in weighed.verify().declared.values()} == {7}


def test_states_follow_each_other(log: ForgedLog) -> None:
    log.append(state("paused"))
    assert log.verify().states == {NAME: "paused"}
    log.append(state("resumed"))
    assert log.verify().states == {NAME: "open"}
    log.append(state("closed"))
    assert log.verify().states == {NAME: "closed"}


def test_the_pinned_roster_key_is_the_federations(log: ForgedLog) -> None:
    log.verify({NAME: log.made.anchors.roster_key})
    with pytest.raises(Exception, match="leaf 0: federation engines was created with another roster key"):
        log.verify({NAME: bytes(32)})


def again(kind: str) -> Callable[[ForgedLog], int]:
    return lambda log: log.append(log.leaf(kind))


def ticket(client: str, mark: int = 9, role: str = "client") -> entries.TicketIssued:
    value = {"kind": "ticket", "federation": NAME, "client": client, "role": role, "expires": EXPIRES, "by": None}
    return entries.TicketIssued.from_json(value | {"ticket": canonical.to_text(bytes([mark]) * 32)})


def enrolled(client: str, mark: int = 9, key: Ed25519PrivateKey = A_THIRD_KEY, **fields: Any) -> entries.Enrolled:
    made = entries.Enrolled(
        federation=NAME,
        client=client,
        role="client",
        ticket=bytes([mark]) * 32,
        identity_key=signatures.public_bytes(key),
        declared=None,
    )
    return made.model_copy(update=fields)


def after_closing(leaf: Callable[[ForgedLog], entries.Leaf]) -> Callable[[ForgedLog], int]:
    def forge(log: ForgedLog) -> int:
        log.append(ticket("stranger"), state("closed"))
        return log.append(leaf(log))

    return forge


def taken_twice(log: ForgedLog) -> int:
    log.append(ticket("stranger"), enrolled("stranger"))
    return log.append(enrolled("stranger", key=Ed25519PrivateKey.from_private_bytes(bytes([5]) * 32)))


def two_tickets(log: ForgedLog) -> int:
    log.append(ticket("stranger"), ticket("stranger", 10), enrolled("stranger"))
    return log.append(enrolled("stranger", 10, Ed25519PrivateKey.from_private_bytes(bytes([5]) * 32)))


def known_key(log: ForgedLog) -> int:
    log.append(ticket("stranger"))
    return log.append(enrolled("stranger", key=log.made.clients["client-00"].identity_key))


def old_key(log: ForgedLog) -> int:
    """A key that gave way to another is nobody's again."""
    log.append(ticket("stranger"))
    return log.append(enrolled("stranger", key=READERS_KEY))


def new_role(log: ForgedLog) -> int:
    log.append(ticket("stranger", role="reader"))
    return log.append(enrolled("stranger"))


def unasked_weight(log: ForgedLog) -> int:
    log.append(ticket("stranger"))
    declared = DeclaredWeight(federation=NAME, client="stranger", weight=3)
    return log.append(enrolled("stranger", declared=Signed[DeclaredWeight].make(A_THIRD_KEY, declared)))


def opening_key(client: str) -> entries.OpeningKeyRegistered:
    return entries.OpeningKeyRegistered(federation=NAME, client=client, serial=90, key=bytes(32))


def revoked(client: str) -> entries.Revoked:
    return entries.Revoked(federation=NAME, client=client, by="operator")


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (again("federation"), "federation engines stands in the log twice"),
        (
            lambda log: log.change("federation", settings=log.made.settings.model_copy(update={"name": "bridges"})),
            "the settings are those of bridges",
        ),
        (after_closing(lambda _: ticket("another", 10)), "federation engines was closed before"),
        (after_closing(lambda _: enrolled("stranger")), "federation engines was closed before"),
        (after_closing(lambda _: state("resumed")), "federation engines was closed before"),
        (lambda log: log.append(ticket("client-00")), "client-00 gets a ticket and is enrolled"),
        (
            lambda log: log.append(ticket("stranger"), ticket("another")) + 1,
            "the ticket of another stands in the log twice",
        ),
        (lambda log: log.append(enrolled("stranger")), "stranger takes up a ticket that was not made for it"),
        (new_role, "stranger takes up a ticket that was not made for it as a client"),
        (taken_twice, "stranger takes up a ticket that was taken up before"),
        (two_tickets, "the enrolment of stranger stands in the log twice"),
        (known_key, "stranger has a key that somebody has or had"),
        (old_key, "stranger has a key that somebody has or had"),
        (unasked_weight, "stranger declares a weight unasked"),
        (lambda log: log.append(opening_key(READER)), "reader-00 has an opening key and is no client"),
        (lambda log: log.append(opening_key("stranger")), "stranger has an opening key and is no client"),
        (lambda log: log.append(opening_key("client-04")), "client-04 was revoked, and has another opening key"),
        (again("opening-key"), "opening key 1 of client-00 stands in the log twice"),
        (lambda log: log.append(revoked("stranger")), "stranger is revoked and was never enrolled"),
        (again("revoked"), "the revocation of client-04 stands in the log twice"),
    ],
)
def test_who_is_a_member(log: ForgedLog, forge: Callable[[ForgedLog], int], reason: str) -> None:
    log.refuses(forge(log), reason)


def test_a_change_of_keys(log: ForgedLog) -> None:
    last = log.find("rotated")
    for leaf, reason in (
        (replaced(ITS_NEXT_KEY, A_THIRD_KEY), "reader-00 does not have the key that is replaced"),
        (replaced(READERS_KEY, ITS_NEXT_KEY, client="you"), "the key change is not reader-00's"),
        (replaced(READERS_KEY, ITS_NEXT_KEY, federation="others"), "the key change is not reader-00's"),
        (replaced(READERS_KEY, READERS_KEY), "reader-00's new key is the old one"),
        (replaced(READERS_KEY, log.made.clients["client-00"].identity_key), "reader-00 has a key that somebody has"),
    ):
        log.leaves[last] = leaf
        log.refuses(last, reason)
    for field in ("by_old", "by_new"):
        honest = replaced(READERS_KEY, ITS_NEXT_KEY)
        other = SignedKeyChange.make(NAME, READER, A_THIRD_KEY, A_THIRD_KEY).by_old
        log.leaves[last] = honest.model_copy(update={"rotation": honest.rotation.model_copy(update={field: other})})
        log.refuses(last, "the signature under 'fgpr-v1/key-change'")
    log.leaves[last] = revoked(READER)
    log.refuses(log.insert(last + 1, readers()[-1]), "reader-00 was revoked, and has another key all the same")


def declared(key: Ed25519PrivateKey, weight: int = 7, client: str = "client-00") -> Signed[DeclaredWeight]:
    return Signed[DeclaredWeight].make(key, DeclaredWeight(federation=NAME, client=client, weight=weight))


def rotated(log: ForgedLog, new: Signed[DeclaredWeight] | None) -> entries.KeyReplaced:
    old = log.made.clients["client-00"].identity_key
    rotation = SignedKeyChange.make(NAME, "client-00", old, ITS_NEXT_KEY)
    return entries.KeyReplaced(federation=NAME, client="client-00", rotation=rotation, declared=new)


def test_a_declared_weight_goes_along(weighed: ForgedLog) -> None:
    weighed.append(rotated(weighed, declared(ITS_NEXT_KEY)))
    first = weighed.leaf("enrolled").declared
    assert weighed.verify().declared[NAME, "client-00"] == (first, declared(ITS_NEXT_KEY))


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        (None, "client-00 declares another weight under its new key"),
        (declared(ITS_NEXT_KEY, 8), "client-00 declares another weight under its new key"),
        (declared(A_THIRD_KEY), "the signature under 'fgpr-v1/declared-weight'"),
    ],
)
def test_another_weight_does_not(weighed: ForgedLog, new: Signed[DeclaredWeight] | None, reason: str) -> None:
    weighed.refuses(weighed.append(rotated(weighed, new)), reason)


def test_what_a_client_declares_when_it_enrols(weighed: ForgedLog) -> None:
    own = weighed.made.clients["client-00"].identity_key
    for said, reason in (
        (None, "client-00 declares a weight unasked, or none where one is asked"),
        (declared(own, client="client-01"), "client-00 declares client-01's weight"),
        (declared(A_THIRD_KEY), "the signature under 'fgpr-v1/declared-weight'"),
    ):
        weighed.refuses(weighed.change("enrolled", declared=said), reason)


def entry(log: ForgedLog, place: int = 0, nth: int = 0, **fields: Any) -> dict[str, Any]:
    """The clients of a roster, one of them with other fields."""
    clients = list(log.leaf("roster", nth).roster.message.clients)
    clients[place] = clients[place].model_copy(update=fields)
    return {"clients": tuple(clients)}


def with_stranger(log: ForgedLog) -> dict[str, Any]:
    known = log.leaf("roster").roster.message.clients
    return {"clients": (*known, known[0].model_copy(update={"client": "zoe", "identity_key": bytes(32)}))}


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (lambda log: log.change_document("roster", federation="bridges"), "the roster is one of bridges"),
        (lambda log: log.change_document("roster", key=READERS_KEY), "the signature under 'fgpr-v1/roster'"),
        (lambda log: log.change_document("roster", version=2), "roster 2 follows version 0"),
        (again("roster"), "roster 1 follows version 2"),
        (
            lambda log: log.change_document(
                "roster", checkpoint=log.leaf("roster").roster.message.checkpoint.model_copy(update={"root": bytes(32)})
            ),
            "its checkpoint of 17 leaves is not one of this log",
        ),
        (
            lambda log: log.change_document("roster", **entry(log, client="client-000")),
            "roster 1 leaves out client-00, enrolled before its checkpoint",
        ),
        (
            lambda log: log.change_document("roster", clients=log.leaf("roster").roster.message.clients[:4]),
            "roster 1 leaves out client-04, enrolled before its checkpoint",
        ),
        (
            lambda log: log.change_document("roster", **with_stranger(log)),
            "roster 1 names zoe, who is not enrolled as a client at its checkpoint",
        ),
        (
            lambda log: log.change_document("roster", **entry(log, identity_key=bytes(32))),
            "roster 1 names a key that client-00 does not have at its checkpoint",
        ),
        (
            lambda log: log.change_document(
                "roster", **entry(log, declared=declared(log.made.clients["client-00"].identity_key))
            ),
            "client-00 declared another weight when it enrolled",
        ),
        (
            lambda log: log.change_document("roster", -1, **entry(log, 4, -1, revoked=False)),
            "roster 2 hides that client-04 is revoked",
        ),
        (
            lambda log: log.change_document("roster", -1, **entry(log, 3, -1, revoked=True)),
            "roster 2 calls client-03 revoked, who is not",
        ),
        (
            lambda log: log.change_document("roster", -1, **entry(log, 3, -1, may_serve=False)),
            "roster 2 keeps client-03 from serving",
        ),
        (
            lambda log: log.change_document("roster", -1, checkpoint=LogPosition(size=0, root=merkle.EMPTY_ROOT)),
            r"its checkpoint of 0 leaves is not between 17 and \d+",
        ),
    ],
)
def test_what_a_roster_may_not_say(log: ForgedLog, forge: Callable[[ForgedLog], int], reason: str) -> None:
    log.refuses(forge(log), reason)


def test_a_reader_stands_in_no_roster(log: ForgedLog) -> None:
    known = log.leaf("roster", -1).roster.message.clients
    reader = known[0].model_copy(update={"client": READER, "identity_key": signatures.public_bytes(ITS_NEXT_KEY)})
    log.refuses(third_roster(log, *known, reader), "roster 3 names reader-00, who is not enrolled as a client")


def third_roster(log: ForgedLog, *clients: RosterEntry) -> int:
    """One that is signed at the end of the log; its place."""
    checkpoint = position_of([leaf.encode() for leaf in log.leaves])
    place = log.append(log.leaf("roster", -1))
    log.change_document("roster", -1, version=3, clients=clients, checkpoint=checkpoint)
    return place


def test_a_roster_brings_no_replaced_key_back(log: ForgedLog) -> None:
    known = log.leaf("roster", -1).roster.message.clients
    own = log.made.clients["client-00"].identity_key
    rotation = SignedKeyChange.make(NAME, "client-00", own, A_THIRD_KEY)
    log.append(entries.KeyReplaced(federation=NAME, client="client-00", rotation=rotation, declared=None))
    renewed = known[0].model_copy(update={"identity_key": signatures.public_bytes(A_THIRD_KEY)})
    log.refuses(third_roster(log, *known), "roster 3 names a key that client-00 does not have at its checkpoint")
    log.change_document("roster", -1, clients=(renewed, *known[1:]))
    log.verify()


def test_a_roster_that_waited_for_its_signature_is_true_as_of_its_checkpoint(log: ForgedLog) -> None:
    """Who enrolled, left or replaced its key meanwhile stands in the next one."""
    second = log.leaf("roster", -1).roster.message
    place = third_roster(log, *second.clients)
    rotation = SignedKeyChange.make(NAME, "client-00", log.made.clients["client-00"].identity_key, A_THIRD_KEY)
    log.insert(
        place,
        entries.KeyReplaced(federation=NAME, client="client-00", rotation=rotation, declared=None),
        entries.Revoked(federation=NAME, client="client-01", by="client"),
    )
    log.verify()


def test_a_weight_in_the_roster_is_signed_by_its_client(weighed: ForgedLog) -> None:
    place = weighed.change_document("roster", **entry(weighed, declared=declared(A_THIRD_KEY)))
    weighed.refuses(place, "the signature under 'fgpr-v1/declared-weight'")
    other = declared(weighed.made.clients["client-00"].identity_key, 8)
    weighed.refuses(weighed.change_document("roster", **entry(weighed, declared=other)), "client-00 declared another")

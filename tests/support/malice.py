"""What a malicious aggregator, client or member sends."""

from collections.abc import Iterable

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from fgpr.message import Signed
from fgpr.secagg import envelope
from fgpr.secagg.contributor import boxes_root
from fgpr.secagg.messages import Contribution, Header, Opening, Plan
from support.client import Client
from support.federation import Federation


def box_of(plan: Plan, sender: Client, seat: int, plaintext: bytes) -> bytes:
    """A box that opens at this seat to whatever somebody put in; sealing takes public keys only."""
    key = plan.seats[seat - 1].key
    assert key is not None
    return sealed(plan, sender, seat, key.message.key, plaintext)


def sealed(plan: Plan, sender: Client, seat: int, opening_key: bytes, plaintext: bytes) -> bytes:
    """A box for any opening key, under the info of this seat."""
    return envelope.seal(
        plaintext, opening_key, envelope.box_info(plan.digest(), sender.name, sender.public_key(), seat)
    )


def with_box(made: Contribution, seat: int, box: bytes, key: Ed25519PrivateKey | None = None) -> Contribution:
    """A contribution with one other box; the header follows where the sender's key is given."""
    boxes = (*made.boxes[: seat - 1], box, *made.boxes[seat:])
    header = made.header
    if key is not None:
        changed = header.message.model_copy(update={"boxes": boxes_root(boxes)})
        header = Signed[Header].make(key, changed)
    return Contribution(header=header, masked=made.masked, boxes=boxes)


def swapped_but_one(federation: Federation, member: str, victim: str) -> dict[str, Contribution]:
    """Every box for `member` but the victim's swapped for one with a known share: its sum would give the victim's."""
    plan = federation.now.plan.message
    seat = plan.seat_of(member)
    assert seat is not None
    swapped = dict(federation.now.contributions)
    for name, made in swapped.items():
        if name != victim:
            known = box_of(plan, federation.clients[name], seat, bytes(len(made.masked)))
            swapped[name] = with_box(made, seat, known)
    return swapped


def with_sum(answer: Signed[Opening], added: int, key: Ed25519PrivateKey) -> Signed[Opening]:
    """A member's opening with another sum, signed by it."""
    first = (int.from_bytes(answer.message.sum[:8], "little") + added) % (2**61 - 1)
    changed = answer.message.model_copy(update={"sum": first.to_bytes(8, "little") + answer.message.sum[8:]})
    return Signed[Opening].make(key, changed)


def framing(points: Iterable[int], wrong: Iterable[int], step: int) -> dict[int, int]:
    """What liars add to their sums so that others look wrong: a polynomial that is zero at all honest points but these.

    Args:
        points: seats whose openings the aggregator has.
        wrong: the liars' seats and those of the members to be framed, one more than are to spare.
        step: the polynomial's value at 0, by which the opened sum moves.

    Returns:
        For each seat in `wrong`, the value of the polynomial there; the liars add theirs.
    """
    p, zeros = 2**61 - 1, [point for point in points if point not in set(wrong)]

    def at(x: int) -> int:
        value = 1
        for zero in zeros:
            value = value * (x - zero) % p
        return value

    scale = step * pow(at(0), -1, p) % p
    return {point: scale * at(point) % p for point in wrong}


def all_bytes(federation: Federation, names: Iterable[str]) -> bytes:
    """Everything that the aggregator holds of these clients' contributions, and its log."""
    stored = federation.now.contributions
    held = [stored[name].encode() for name in names if name in stored]
    raw = [part for name in names if name in stored for part in (stored[name].masked, *stored[name].boxes)]
    answers = [answer.encode() for answer in federation.now.openings.values()]
    return b"".join([*held, *raw, *answers, *federation.log.leaves])


def opened(plan: Plan, sender: Client, seat: int, made: Contribution, key: X25519PrivateKey) -> bytes:
    """What a box of this contribution holds, without a look at its header."""
    info = envelope.box_info(plan.digest(), sender.name, sender.public_key(), seat)
    return envelope.open_box(made.boxes[seat - 1], key, info)

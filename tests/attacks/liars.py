"""Rows 10 and 12 to 14: clients, members and a curious aggregator against an honest round."""

import dataclasses
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from aggregator.service import contributing
from attacks.attack import Attack
from attacks.round_of_liars import InMemoryRound, RoundOfLiars, round_over_http
from attacks.scene import ME, ROWS, in_memory
from client_agent.api import Api
from fgpr.errors import FgprError
from fgpr.message import Signed
from fgpr.secagg.contributor import FIELD, masked_digest
from fgpr.secagg.encoding import Encoded
from fgpr.secagg.messages import Contribution, Header, Opening, Plan
from support import agent_home, malice
from support.agent_home import AgentHome, Killed
from support.aggregator import Aggregator, caller_of, served
from support.client import NAME, Client
from support.federation import Federation
from support.lying_server import lying_server
from support.party import Party

LIAR = 2
THRESHOLD_OF_20 = 15
OTHER_ROWS = {"cycle": ROWS["cycle"], "T24": ROWS["T24"][::-1].copy()}
LARGEST = 2**30 - 1


def on_round(
    row: str, by: str, name: str, expected: str, play: Callable[[RoundOfLiars], str], clients: int = 8
) -> Attack:
    """Liars among clients or members: the library's functions in memory, a real aggregator of twenty over HTTP."""

    def network(folder: Path) -> str:
        with round_over_http(folder) as made:
            return play(made)

    expected_everywhere = {"memory": expected, "HTTP": expected}
    return Attack(
        row, by, name, expected_everywhere, {"memory": lambda _: play(InMemoryRound(clients)), "HTTP": network}
    )


# Row 10


def _killed_before_sending(home: AgentHome, connect: Callable[[], Api | agent_home.InMemory]) -> str:
    """Killed with its contribution written and nothing sent; started again with other rows."""
    dying = connect()

    def die(path: str, body: bytes) -> bytes:
        raise Killed(path, body)

    dying.put = die  # type: ignore[method-assign]
    home.api = dying
    try:
        home.run(ROWS)
    except Killed:
        written = (home.home / "rounds" / "000001" / "contribution.json").read_bytes()
    home.api = connect()
    home.run(OTHER_ROWS)
    sent = {body for path, body in home.connection.puts if "contributions" in path}
    return "the bytes written before" if sent == {written} else f"{len(sent)} bodies"


def _crash_in_memory(folder: Path) -> str:
    federation = in_memory().federation
    agent_home.plan(federation)
    home = AgentHome(federation, ME, folder / "home")
    return _killed_before_sending(home, lambda: home.connect())


def _crash_over_http(folder: Path) -> str:
    federation = Federation(5)
    agent_home.plan(federation)
    home = AgentHome(federation, ME, folder / "home")
    with lying_server() as server, ExitStack() as connections:

        def connect() -> Api:
            server.connection = home.connect()
            return connections.enter_context(Api(server.origin, NAME, federation.clients[ME].identity_key, attempts=1))

        return _killed_before_sending(home, connect)


Send = Callable[[Party, bytes], object]
"""Sends a contribution to round 1."""


def _second_body(folder: Path, over_http: bool) -> str:
    with served(folder, keeps_deadlines=False) as aggregator:
        first, *_ = aggregator.enrol(4)
        aggregator.advance()
        body, second = first.contribution(), first.contribution(weight=11)
        send = _by_http if over_http else _by_call(aggregator)
        send(first, body)
        return _refused_unstored(lambda: send(first, second), second, aggregator.files)


def _left_out(folder: Path, over_http: bool) -> str:
    with served(folder, keeps_deadlines=False) as aggregator:
        *others, late = aggregator.enrol(4)
        aggregator.advance()
        body = late.contribution()
        for party in others:
            party.contribute()
        aggregator.pass_contributing()
        send = _by_http if over_http else _by_call(aggregator)
        return _refused_unstored(lambda: send(late, body), body, aggregator.files)


def _by_http(party: Party, body: bytes) -> object:
    return party.send_contribution(body)


def _by_call(aggregator: Aggregator) -> Send:
    def send(party: Party, body: bytes) -> object:
        caller = caller_of(party, aggregator.clock)
        return contributing.contribute(aggregator.context, caller, NAME, 1, party.name, body)

    return send


def _refused_unstored(send: Callable[[], object], body: bytes, disk: Callable[[], bytes]) -> str:
    masked = Contribution.decode(body).masked
    try:
        send()
    except FgprError as error:
        on_disk = masked in disk() or Contribution.decode(body).boxes[0] in disk()
        return f"{type(error).__name__}, {'stored' if on_disk else 'nothing stored'}"
    return "taken"


def _aggregator(row: str, by: str, name: str, expected: str, play: Callable[[Path, bool], str]) -> Attack:
    plays: dict[str, Callable[[Path], str]] = {
        "memory": lambda folder: play(folder, False),
        "HTTP": lambda folder: play(folder, True),
    }
    return Attack(row, by, name, {"memory": expected, "HTTP": expected}, plays)


# Row 13


def _with_sum(added: int) -> Callable[[Client, Signed[Opening]], Signed[Opening]]:
    return lambda member, answer: malice.with_sum(answer, added, member.identity_key)


def _wrong_opening(made: RoundOfLiars) -> str:
    made.contribute_all()
    return made.open_all({made.names[LIAR]: _with_sum(7)})


def _too_many_wrong_openings(made: RoundOfLiars) -> str:
    made.contribute_all()
    return made.open_all({name: _with_sum(7) for name in made.names[: made.mends + 1]})


def _together(came: int, liars: int) -> Callable[[RoundOfLiars], str]:
    """Of the openings that came first, these lie so that honest ones look wrong; more openings may come."""

    def play(made: RoundOfLiars) -> str:
        made.contribute_all()
        wrong = came - THRESHOLD_OF_20 + 1
        added = malice.framing(range(1, came + 1), range(1, wrong + 1), 3 * 2**28)
        return made.open_all({made.names[seat - 1]: _with_sum(added[seat]) for seat in range(1, liars + 1)})

    return play


def bad_boxes(seats: int, plaintext: bytes) -> Callable[[Plan, Client, Contribution], Contribution]:
    def tamper(plan: Plan, sender: Client, made: Contribution) -> Contribution:
        for seat in range(4, 4 + seats):
            bad = malice.box_of(plan, sender, seat, plaintext)
            made = malice.with_box(made, seat, bad, sender.identity_key)
        return made

    return tamper


WRONG_SHARE = FIELD.to_bytes(FIELD.array([1, 2, 3, 4]))


def _bad_share(made: RoundOfLiars) -> str:
    made.contribute_all({made.names[LIAR]: bad_boxes(1, WRONG_SHARE)})
    return made.open_all({})


def _bad_shares(made: RoundOfLiars) -> str:
    made.contribute_all({made.names[LIAR]: bad_boxes(made.mends + 1, WRONG_SHARE)})
    return made.open_all({})


def _short_share(made: RoundOfLiars) -> str:
    made.contribute_all({made.names[LIAR]: bad_boxes(1, b"\xff" * 32)})
    return made.open_all({})


def _never_shared(made: RoundOfLiars) -> str:
    def tamper(_plan: Plan, sender: Client, sent: Contribution) -> Contribution:
        masked = FIELD.to_bytes(FIELD.uniform((4,), sender.random_bytes))
        header = sent.header.message.model_copy(update={"masked": masked_digest(masked)})
        return sent.model_copy(update={"header": Signed[Header].make(sender.identity_key, header), "masked": masked})

    made.contribute_all({made.names[LIAR]: tamper})
    return made.open_all({})


# Row 14


@dataclasses.dataclass(frozen=True)
class LyingCodec:
    """Encodes whatever its client wants in the sum."""

    vector: tuple[int, ...]
    lower: tuple[float, ...] = (0.0, 0.0, 0.0)

    def encode(self, _values: np.ndarray, _weight: int) -> Encoded:
        """Not the values."""
        return Encoded(np.array(self.vector, dtype=np.uint64), 1, (), False)


def _vector(*elements: int) -> Callable[[RoundOfLiars], str]:
    def play(made: RoundOfLiars) -> str:
        made.contribute_all(codecs={made.names[LIAR]: LyingCodec(elements)})
        return made.open_all({})

    return play


ATTACKS: list[Attack] = [
    Attack(
        "10",
        "A1",
        "a client killed before it sent, started again with other rows",
        {"memory": "the bytes written before", "HTTP": "the bytes written before"},
        {"memory": _crash_in_memory, "HTTP": _crash_over_http},
    ),
    _aggregator("10", "C1", "a second body for a round", "Conflict, nothing stored", _second_body),
    _aggregator("12", "A1", "a late contribution of a client left out", "TooLate, nothing stored", _left_out),
    on_round("13", "R", "a member's wrong sum", "mended, client-02 disputed", _wrong_opening),
    on_round("13", "R", "more wrong sums than can be mended", "aborted", _too_many_wrong_openings),
    on_round(
        "13",
        "R",
        "two of the first seventeen lie together, so that a third looks wrong",
        "mended, client-00 disputed, client-01 disputed",
        _together(17, 2),
        clients=20,
    ),
    on_round(
        "13", "R", "three of twenty lie together, so that three look wrong", "aborted", _together(20, 3), clients=20
    ),
    Attack(
        "13",
        "R",
        "spare + 1 members, less those that they make look wrong, lie together",
        {},
        {},
        "not promised: the record tells both numbers; with gamma 0.2, all of five or more open and nobody disputed it "
        "takes more than x",
    ),
    on_round("13", "C1", "a client's wrong share for one member", "mended, client-03 disputed", _bad_share),
    on_round("13", "C1", "more wrong shares than can be mended", "aborted", _bad_shares),
    on_round("13", "C1", "a share outside the field", "published, client-03 silent", _short_share),
    on_round("13", "C1", "a vector masked with what nobody shared", "aborted", _never_shared),
    on_round("14", "C1", "a weight above the cap", "aborted", _vector(0, 0, 0, 2**40)),
    on_round("14", "C1", "a number far above its bound", "aborted", _vector(2**60, 5, 5, 1)),
    on_round("14", "C1", "no weight at all, a number that wraps", "aborted", _vector(2**61 - 2**50, 5, 5, 0)),
    Attack(
        "14",
        "C1",
        "a poisoned update inside the bounds, without groups",
        {},
        {},
        "not promised: without groups one client can put the average anywhere inside the bounds",
    ),
]

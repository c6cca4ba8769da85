"""An attack: who does what, what has to come of it, and what came of it in memory and over HTTP."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from attacks.scene import Scene, http, in_memory
from support.federation import Federation

CHANNELS = ("memory", "HTTP")

Play = Callable[[Path], str]
"""Carries the attack out, with a folder for whoever needs a disk; says what came of it."""


@dataclass(frozen=True)
class Attack:
    """One row of the table.

    Attributes:
        row: of the threat model's table.
        by: A2 a malicious aggregator, C1 a malicious client, R a malicious member, A1 a curious aggregator.
        name: what is tried.
        expected: what has to come of it, on each channel.
        plays: how it is tried on each channel; none for what this version does not promise.
        why_not: why there is no play.
    """

    row: str
    by: str
    name: str
    expected: dict[str, str]
    plays: dict[str, Play]
    why_not: str = ""

    def outcome(self, channel: str, folder: Path) -> str:
        """Carry it out."""
        return self.plays[channel](folder)


def on_client(
    row: str,
    name: str,
    expected: str,
    play: Callable[[Scene], str],
    over_http: str = "",
    federation: Callable[[], Federation] | None = None,
) -> Attack:
    """A malicious aggregator against a client: the library's checks in memory, the real agent over HTTP.

    `over_http` where the agent stops it in another way than the checks would; `federation` makes one, if not the
    default one.
    """

    def memory(_: Path) -> str:
        return play(in_memory(federation and federation()))

    def network(folder: Path) -> str:
        with http(folder, federation and federation()) as scene:
            return play(scene)

    return Attack(
        row,
        "A2",
        name,
        {"memory": expected, "HTTP": over_http or expected},
        {"memory": memory, "HTTP": network},
    )

"""What Flower's process is asked and what it answers; it has nothing of the project installed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FlowerRound:
    """One round of SecAgg+.

    Attributes:
        clients: n.
        lost: how many of them answer no more once the keys are shared.
        threshold: shares that open; every client holds one of every other.
        numbers: L.
        weight: observations of each client.
    """

    clients: int
    lost: int
    threshold: int
    numbers: int
    weight: int


@dataclass(frozen=True)
class FlowerCost:
    """What it took.

    Attributes:
        client: CPU milliseconds of one client in all four stages, the mean of those that stayed.
        server: CPU milliseconds of the server.
        upload: bytes that one client sends in all four stages, as protocol buffers.
        off: the largest error of the average.
    """

    client: float
    server: float
    upload: int
    off: float

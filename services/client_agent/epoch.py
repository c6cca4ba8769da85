"""The epoch of the aggregator as a home knows it; another one means that a backup took its database's place."""

from collections.abc import Callable
from pathlib import Path

from client_agent import durable_file

FILE_NAME = "epoch"

Tell = Callable[[str], None]

RESTORED = (
    "the aggregator was restored from a backup: this agent goes on if the audit log continues what it knows, and "
    "refuses every plan otherwise"
)


def load(home: Path) -> str:
    """The epoch that was learned last; empty before the first."""
    try:
        return (home / FILE_NAME).read_text(encoding="ascii")
    except FileNotFoundError:
        return ""


def learner(home: Path, tell: Tell) -> Tell:
    """What keeps an epoch that an answer named, and tells the owner where another one was known."""

    def learn(epoch: str) -> None:
        if load(home):
            tell(RESTORED)
        durable_file.replace(home / FILE_NAME, epoch.encode("ascii"))

    return learn

"""Aggregators behind real sockets, on each of the two databases."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from aggregator import logs
from support.aggregator import Aggregator, served


@pytest.fixture
def aggregator(tmp_path: Path, database_url: str) -> Iterator[Aggregator]:
    """One that does what is due when a request or the test asks for it."""
    with served(tmp_path, keeps_deadlines=False, url=database_url) as made:
        yield made


@pytest.fixture
def keeping(tmp_path: Path, database_url: str) -> Iterator[Aggregator]:
    """One with its own thread that keeps deadlines."""
    with served(tmp_path, url=database_url) as made:
        yield made


@pytest.fixture
def unused_port() -> int:
    """A port of the loopback address on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def logs_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that run in this process leave its logs alone, which belong to other tests too."""
    monkeypatch.setattr(logs, "configure", lambda: None)

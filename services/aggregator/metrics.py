"""What one process counts, for Prometheus. No label holds a name, a key or an address, and each has few values."""

import threading
from collections.abc import Callable, Iterable
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_1_0_0
from prometheus_client.registry import Collector

from fgpr.errors import FgprError

CONTENT_TYPE = CONTENT_TYPE_PLAIN_1_0_0

SECONDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Bounds of the classes of durations; a request may wait for 30 s on purpose."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
"""Methods that are told apart; a client may invent others."""


class Statistics(Protocol):
    """What the database knows when it is asked; see `aggregator.service.statistics`."""

    @property
    def rounds(self) -> dict[str, int]:
        """Rounds in each stage."""
        ...

    @property
    def parties(self) -> dict[str, int]:
        """Parties by their state: client, reader, revoked."""
        ...

    @property
    def records(self) -> dict[str, int]:
        """Contributions, openings, complaints and leaves that are stored."""
        ...

    @property
    def overdue_seconds(self) -> float:
        """How long the most overdue stage has been."""
        ...

    @property
    def round_seconds(self) -> dict[str, float]:
        """Median and longest of the newest rounds that ended."""
        ...


class Metrics:
    """The counters of one process.

    Args:
        read: the database's part, read at each scrape.
    """

    def __init__(self, read: Callable[[], Statistics]) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "fgpr_http_requests", "Requests that were answered.", ("method", "route", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "fgpr_http_request_seconds",
            "Seconds from a request's header to the end of its answer.",
            ("method", "route"),
            buckets=SECONDS,
            registry=self._registry,
        )
        self._refusals = Counter(
            "fgpr_refusals", "Requests that were refused, by problem type.", ("problem",), registry=self._registry
        )
        self._connections = Gauge("fgpr_connections", "Connections that are open.", registry=self._registry)
        self._cut = Counter(
            "fgpr_connections_cut", "Connections that this side ended, by reason.", ("reason",), registry=self._registry
        )
        # Of each method, route and status: looking them up by labels takes longer than counting.
        self._answers: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._registry.register(_Stored(read))

    @property
    def registry(self) -> CollectorRegistry:
        """For a server of its own."""
        return self._registry

    def answered(self, method: str, route: str, status: int, seconds: float, problem: str | None) -> None:
        """A request was answered.

        Args:
            method: as sent.
            route: the template of its route, never the path.
            status: of the answer.
            seconds: that it took.
            problem: slug of the error class, where one was told.
        """
        method = method if method in METHODS else "other"
        kept = self._answers.get((method, route, status))
        if kept is None:
            kept = self._requests.labels(method, route, str(status)), self._seconds.labels(method, route)
            self._answers[method, route, status] = kept
        requests, duration = kept
        requests.inc()
        duration.observe(seconds)
        if problem is not None:
            self._refusals.labels(problem).inc()

    def connected(self, change: int) -> None:
        """One connection more, or one fewer."""
        self._connections.inc(change)

    def cut(self, reason: str) -> None:
        """A connection was ended by this side."""
        self._cut.labels(reason).inc()

    def exposition(self) -> bytes:
        """Everything in Prometheus' text form."""
        return generate_latest(self._registry)


class _Stored(Collector):
    """The database's part; where it does not answer, only `fgpr_database_up` is told.

    Nobody signs for this question, and it counts whole tables: one look at a time, and whoever asks during a look gets
    what the one before it found.
    """

    def __init__(self, read: Callable[[], Statistics]) -> None:
        self._read = read
        self._looking = threading.Lock()
        self._last: Statistics | FgprError | None = None

    def _look(self) -> Statistics | FgprError | None:
        # The first look of all is waited for.
        if self._looking.acquire(blocking=self._last is None):
            try:
                self._last = self._read()
            except FgprError as error:
                self._last = error
            finally:
                self._looking.release()
        return self._last

    def collect(self) -> Iterable[Metric]:
        found = self._look()
        if found is None or isinstance(found, FgprError):
            yield GaugeMetricFamily("fgpr_database_up", "Whether the database answers.", 0)
            return
        yield GaugeMetricFamily("fgpr_database_up", "Whether the database answers.", 1)
        yield _family("fgpr_rounds", "Rounds in each stage.", "stage", found.rounds)
        yield _family("fgpr_parties", "Parties by state.", "state", found.parties)
        yield _family("fgpr_records", "Rows that are stored.", "kind", found.records)
        yield _family("fgpr_round_seconds", "Length of the newest rounds that ended.", "statistic", found.round_seconds)
        overdue = "How long the most overdue stage has been over; 0 where none is."
        yield GaugeMetricFamily("fgpr_overdue_seconds", overdue, found.overdue_seconds)

    def describe(self) -> Iterable[Metric]:
        # Otherwise registering would read the database.
        return ()


def _family(name: str, text: str, label: str, values: dict[str, int] | dict[str, float]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=(label,))
    for value, number in values.items():
        family.add_metric((value,), number)
    return family

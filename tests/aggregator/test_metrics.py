import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from prometheus_client.parser import text_string_to_metric_families

from aggregator.metrics import METHODS, Metrics, Statistics
from fgpr.errors import Unavailable


@dataclass
class Fixed:
    rounds: dict[str, int] = field(default_factory=lambda: {"published": 3, "aborted": 1})
    parties: dict[str, int] = field(default_factory=lambda: {"client": 5, "reader": 1, "revoked": 0})
    records: dict[str, int] = field(default_factory=lambda: {"contribution": 15})
    overdue_seconds: float = 1.5
    round_seconds: dict[str, float] = field(default_factory=lambda: {"median": 7.0, "longest": 9.0})


def read(metrics: Metrics) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    families = text_string_to_metric_families(metrics.exposition().decode())
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def labelled(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    return name, frozenset(labels.items())


def test_requests_are_counted_by_route_and_status() -> None:
    metrics = Metrics(Fixed)
    for seconds in (0.001, 0.02, 31.0):
        metrics.answered("GET", "/v1/log/entries", 200, seconds, None)
    metrics.answered("GET", "/v1/log/entries", 404, 0.001, "unknown-resource")
    found = read(metrics)
    where = {"method": "GET", "route": "/v1/log/entries"}
    assert found[labelled("fgpr_http_requests_total", **where, status="200")] == 3
    assert found[labelled("fgpr_http_requests_total", **where, status="404")] == 1
    assert found[labelled("fgpr_http_request_seconds_count", **where)] == 4
    assert found[labelled("fgpr_http_request_seconds_sum", **where)] == pytest.approx(31.022)
    assert found[labelled("fgpr_http_request_seconds_bucket", **where, le="0.025")] == 3
    assert found[labelled("fgpr_http_request_seconds_bucket", **where, le="30.0")] == 3
    assert found[labelled("fgpr_refusals_total", problem="unknown-resource")] == 1


def test_what_clients_invent_makes_no_label() -> None:
    metrics = Metrics(Fixed)
    for number in range(500):
        metrics.answered(f"BREW{number}", "none", 405, 0.0, None)
    assert {dict(labels).get("method") for _, labels in read(metrics)} <= METHODS | {"other", None}


def test_the_database_is_asked_once_at_a_time() -> None:
    """Unsigned and costly: many who ask must not take every thread and connection."""
    asked, answered, looks = threading.Event(), threading.Event(), list[int]()

    def look() -> Fixed:
        looks.append(len(looks))
        if len(looks) == 2:
            asked.set()
            assert answered.wait(30)
        return Fixed(records={"contribution": len(looks)})

    metrics = Metrics(look)
    stored = labelled("fgpr_records", kind="contribution")
    assert read(metrics)[stored] == 1
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(read, metrics)
        assert asked.wait(30)
        for _ in range(5):
            assert read(metrics)[stored] == 1
        answered.set()
        assert slow.result(30)[stored] == 2
    assert read(metrics)[stored] == 3
    assert looks == [0, 1, 2]


def test_what_the_database_knows() -> None:
    found = read(Metrics(Fixed))
    assert found[labelled("fgpr_database_up")] == 1
    assert found[labelled("fgpr_rounds", stage="published")] == 3
    assert found[labelled("fgpr_parties", state="client")] == 5
    assert found[labelled("fgpr_records", kind="contribution")] == 15
    assert found[labelled("fgpr_overdue_seconds")] == 1.5
    assert found[labelled("fgpr_round_seconds", statistic="longest")] == 9.0


def test_without_its_database_the_rest_is_still_told() -> None:
    def away() -> Statistics:
        raise Unavailable("the database does not answer")

    metrics = Metrics(away)
    metrics.answered("GET", "/livez", 200, 0.1, None)
    metrics.connected(+2)
    metrics.connected(-1)
    metrics.cut("slow head")
    found = read(metrics)
    assert found[labelled("fgpr_database_up")] == 0
    assert labelled("fgpr_rounds", stage="published") not in found
    assert found[labelled("fgpr_http_requests_total", method="GET", route="/livez", status="200")] == 1
    assert found[labelled("fgpr_connections")] == 1
    assert found[labelled("fgpr_connections_cut_total", reason="slow head")] == 1


def test_two_processes_in_one_do_not_share_counters() -> None:
    first, second = Metrics(Fixed), Metrics(Fixed)
    first.cut("full")
    assert labelled("fgpr_connections_cut_total", reason="full") not in read(second)

from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from aggregator import serving
from aggregator.routes import health
from support.aggregator import Aggregator, served
from support.party import Party
from support.raw_socket import connected


def test_the_probes_are_answered_unsigned(aggregator: Aggregator) -> None:
    origin = aggregator.settings.origin
    for path, text in (("/livez", "ok\n"), ("/readyz", "ready\n")):
        answer = httpx.get(origin + path)
        assert (answer.status_code, answer.text, answer.headers["cache-control"]) == (200, text, "no-store")
        head = httpx.head(origin + path)
        assert (head.status_code, head.content) == (200, b"")


def test_what_cannot_work_is_alive_and_not_ready(aggregator: Aggregator) -> None:
    origin = aggregator.settings.origin
    (aggregator.settings.keys / "service.pem").unlink()
    answer = httpx.get(f"{origin}/readyz")
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:fgpr:problem:unavailable")
    told = "keys: the service key cannot be read, or its file is not safe; the aggregator's log says more"
    assert answer.json()["detail"] == told
    assert str(aggregator.settings.keys) not in answer.text
    assert answer.headers["retry-after"] == "2"
    assert httpx.get(f"{origin}/livez").status_code == 200


def labels(text: str) -> set[tuple[str, str]]:
    families = text_string_to_metric_families(text)
    return {pair for family in families for sample in family.samples for pair in sample.labels.items()}


@pytest.fixture
def parties(aggregator: Aggregator) -> list[Party]:
    """After a whole round."""
    made = aggregator.enrol(4)
    aggregator.advance()
    for act in ("contribute", "open"):
        for party in made:
            getattr(party, act)()
    return made


def test_metrics_of_a_whole_round(aggregator: Aggregator, parties: list[Party]) -> None:
    origin = aggregator.settings.origin
    assert httpx.put(f"{origin}/v1/nowhere/{parties[0].name}").status_code == 404
    answer = httpx.get(f"{origin}/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=1.0.0")
    text = answer.text
    assert 'fgpr_rounds{stage="published"} 1.0' in text
    assert 'fgpr_parties{state="client"} 4.0' in text
    assert 'fgpr_records{kind="contribution"} 4.0' in text
    put = 'method="PUT",route="/v1/federations/{federation}/rounds/{number}/contributions/{client}",status="200"'
    assert f"fgpr_http_requests_total{{{put}}} 4.0" in text
    assert 'fgpr_refusals_total{problem="unknown-resource"} 1.0' in text
    assert "fgpr_connections " in text


def test_metrics_name_nobody_and_have_few_labels(aggregator: Aggregator, parties: list[Party]) -> None:
    origin = aggregator.settings.origin
    with httpx.Client(base_url=origin) as client:
        for number in range(50):
            client.get(f"/v1/invented/{number}")
            client.get(f"/v1/federations/f{number}/rosters/{number}")
        text = client.get("/metrics").text
    for party in parties:
        assert party.name not in text
    names = {name for name, _ in labels(text)}
    assert names <= {"method", "route", "status", "problem", "reason", "stage", "state", "kind", "statistic", "le"}
    routes = {value for name, value in labels(text) if name == "route"}
    assert routes <= {*aggregator.app.openapi()["paths"], "none"}


def test_metrics_may_be_off(tmp_path: Path) -> None:
    with served(tmp_path, keeps_deadlines=False, metrics="off") as aggregator:
        assert httpx.get(f"{aggregator.settings.origin}/metrics").status_code == 404
        assert httpx.get(f"{aggregator.settings.origin}/livez").status_code == 200
        assert "/metrics" not in aggregator.app.openapi()["paths"]


def test_metrics_may_have_a_listener_of_their_own(tmp_path: Path, unused_port: int) -> None:
    with served(tmp_path, keeps_deadlines=False, metrics=f"127.0.0.1:{unused_port}") as aggregator:
        with serving.metrics_listener(aggregator.app):
            assert httpx.get(f"{aggregator.settings.origin}/metrics").status_code == 404
            answer = httpx.get(f"http://127.0.0.1:{unused_port}/metrics")
            assert 'fgpr_rounds{stage="published"} 0.0' in answer.text
        with pytest.raises(OSError, match="refused"), connected(f"http://127.0.0.1:{unused_port}"):
            pass


def test_the_media_type_is_that_of_the_text_form() -> None:
    assert health.metrics.CONTENT_TYPE.partition(";")[0] == "text/plain"

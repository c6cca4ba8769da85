"""What an agent asks the aggregator for in one round, in the order in which it does."""

from collections.abc import Iterator

from load.crowd import PreparedRound
from load.requests import PATH, Request

WAIT_SECONDS = 30

FIRST = ("current", "prior", "roster", "checkpoint", "consistency")
"""Before a client contributes: what its checks of the plan need."""

AGAIN = ("cohort", "checkpoint again", "consistency again", "entries")
"""Before a member opens: what its checks of the cohort need."""


def requests_of(prepared: PreparedRound, name: str) -> Iterator[Request]:
    """The requests of one client, each under an endpoint of its own."""
    plan, size = prepared.plan, prepared.log_size
    yield Request("current", "GET", f"{PATH}/rounds/current")
    yield Request("prior", "GET", f"{PATH}/priors/{plan.prior_version}")
    yield Request("roster", "GET", f"{PATH}/rosters/{plan.roster_version}", signed=False)
    yield Request("checkpoint", "GET", "/v1/log/checkpoint", signed=False)
    yield _proof("consistency", plan.checkpoint.size, size)
    path = f"{PATH}/rounds/{plan.round}"
    yield Request("contribution", "PUT", f"{path}/contributions/{name}", prepared.uploads[name])
    yield _change("told of the cohort", prepared.waiting[0])
    if name in prepared.answers:
        yield Request("cohort", "GET", f"{path}/cohort")
        yield Request("checkpoint again", "GET", "/v1/log/checkpoint", signed=False)
        yield _proof("consistency again", size, size + 1)
        leaves = f"/v1/log/entries?start={prepared.log_start}&end={size}"
        yield Request("entries", "GET", leaves, signed=False)
        yield Request("opening", "PUT", f"{path}/openings/{name}", prepared.answers[name])
    yield _change("told of the prior", prepared.waiting[1])
    yield Request("prior again", "GET", f"{PATH}/priors/latest")


def _proof(endpoint: str, old: int, new: int) -> Request:
    return Request(endpoint, "GET", f"/v1/log/consistency?old={old}&new={new}", signed=False)


def _change(endpoint: str, seen: str) -> Request:
    return Request(endpoint, "GET", f"{PATH}/rounds/current?seen={seen}&wait={WAIT_SECONDS}", seen=seen)

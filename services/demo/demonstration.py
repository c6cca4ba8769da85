"""The whole demonstration: a federation learns a prior, new engines predict with it, everything is verified."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from client_agent import enrolment, identity, published_prior
from client_agent.api import Api
from client_agent.predict import PredictedRows, predict
from demo import fates, fleet, report, scores, verify
from demo.agent_process import AgentTask
from demo.agents import AgentProcesses
from demo.aggregator_process import FEDERATION, AggregatorProcess, federation_of
from demo.fleet import Fleet
from demo.observation import Notebook
from demo.report import Findings
from fgpr.errors import CommitteeError, FgprError, Unavailable
from fgpr.gp.model import Prior
from fgpr.rest import RoundSummary
from fgpr.secagg import committee
from fgpr.secagg.groups import combine_averages
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.stages import FAILED, RUNNING, Stage
from fgpr.ticket import Ticket

AGENTS_A_PROCESS = 20
LOOK_SECONDS = 0.2
PATIENCE_SECONDS = 180.0
"""How long nothing may happen before the demonstration gives up."""

DEADLINE = 60.0
DEADLINE_WITH_DROPS = 10.0


@dataclass(frozen=True)
class Wish:
    """What the demonstration is asked for.

    Attributes:
        data: a C-MAPSS file; None for the built-in generator.
        sensor: number of the sensor.
        clients: engines that train.
        new_engines: engines that come later.
        rounds: rounds to publish.
        drop: share of the agents that is killed in each round.
        seed: of every random choice.
        folder: where everything is kept.
        database: URL of another database than SQLite in the folder.
        groups: to which the engines are dealt; with more than one, the prior is the median of the groups' averages.
        largest_step: farthest that a round may move a number of theta; None for any distance.
    """

    data: Path | None
    sensor: int
    clients: int
    new_engines: int
    rounds: int
    drop: float
    seed: int
    folder: Path
    database: str | None
    groups: int = 1
    largest_step: float | None = None

    def rules(self) -> AggregationRules:
        """Of secure aggregation.

        Raises:
            EncodingError, CommitteeError: so many engines cannot be dealt to so many groups, or a round cannot miss as
                many of them as are killed.
        """
        combine = "mean" if self.groups == 1 else "median"
        rules = AggregationRules.from_json(
            {"groups": self.groups, "combine": combine, "largest_step": self.largest_step}
        )
        # Else the aggregator would wait for more engines, and nobody would say why.
        numbers = committee.size(
            seats=min(self.clients, rules.committee_cap),
            servants=self.clients,
            invited=self.clients,
            admitted=self.clients,
            gamma=rules.gamma,
            delta=rules.delta,
            groups=rules.groups,
        )
        missable, dead = numbers.seats - numbers.threshold, fates.killed(self.clients, self.drop)
        if dead * numbers.seats > missable * self.clients:
            raise CommitteeError(
                f"drop {self.drop:g} kills {dead} of {self.clients} agents in each round, and their committee of "
                f"{numbers.seats} can miss {missable}: kill fewer"
            )
        return rules


Progress = Callable[[str, int], None]
"""Told the present step, and how many rounds are published."""


@dataclass(frozen=True)
class Shown:
    """What there is to show.

    Attributes:
        findings: the figures.
        fleet: the engines.
        rows: the prediction of the first new engine over its whole life.
    """

    findings: Findings
    fleet: Fleet
    rows: PredictedRows


def demonstrate(wish: Wish, progress: Progress) -> Shown:
    """Run it.

    Raises:
        FgprError: something does not hold, or does not come about in time.
    """
    began = time.monotonic()
    engines = fleet.gather(wish.data, wish.sensor, wish.clients, wish.new_engines, wish.seed)
    aggregator = AggregatorProcess(wish.folder / "aggregator", wish.database)
    deadline = DEADLINE_WITH_DROPS if wish.drop else DEADLINE
    aggregator.prepare(federation_of(engines, wish.rounds, deadline, wish.rules()))
    agents = AgentProcesses(wish.folder / "processes", _groups(wish, engines, aggregator))
    progress("starting the aggregator and the agents", 0)
    try:
        aggregator.start()
        agents.start()
        rounds, seconds = _watch(wish, aggregator, agents, progress)
        agents.stop()
        progress("new engines fetch the prior and predict", wish.rounds)
        prior, rows = _newcomers(wish, engines, aggregator)
    finally:
        agents.stop()
        aggregator.stop()
    progress("verifying the audit trail", wish.rounds)
    verify.keep_anchors(wish.folder, aggregator.anchors(), aggregator.settings.database)
    entries, verified = _verify(wish)
    served = scores.score(prior.spec, prior.theta, engines.new)
    progress("computing the optimum that no federation may compute", wish.rounds)
    best = scores.score(prior.spec, scores.optimum(prior.spec, engines), engines.new)
    published = [line for line in rounds if line.stage is Stage.PUBLISHED]
    findings = Findings(
        clients=wish.clients,
        new_engines=wish.new_engines,
        rounds_published=len(published),
        rounds_aborted=sum(line.stage in FAILED for line in rounds),
        aggregate_max_error=_aggregate_error(wish, aggregator, published),
        rmse_prior_mean=served.mean,
        rmse_prior_sd=served.sd,
        rmse_optimum_mean=best.mean,
        rmse_noise_floor=prior.natural["noise sd"],
        coverage_95=served.coverage_95,
        audit_entries=entries,
        audit_verified=verified,
        seconds=time.monotonic() - began,
        seconds_per_round=seconds / max(1, len(published)),
    )
    return Shown(findings, engines, rows)


def _groups(wish: Wish, engines: Fleet, aggregator: AggregatorProcess) -> list[list[AgentTask]]:
    """Tasks of each process: one agent a process where agents die, else some of them together."""
    names = [engine.name for engine in engines.clients]
    dealt = fates.draw(names, wish.drop, 10 * wish.rounds, wish.seed)
    tasks = []
    for engine in engines.clients:
        data = wish.folder / "data" / f"{engine.name}.csv"
        fleet.write_csv(data, engine, engines.sensor)
        tasks.append(
            AgentTask(
                home=str(wish.folder / "agents" / engine.name),
                ticket=aggregator.invite(engine.name, "client").to_text(),
                data=str(data),
                notebook=str(wish.folder / "notebook"),
                fates={number: fate.value for number, fate in dealt[engine.name].items()},
            )
        )
    size = 1 if wish.drop else AGENTS_A_PROCESS
    return [tasks[start : start + size] for start in range(0, len(tasks), size)]


def _watch(
    wish: Wish, aggregator: AggregatorProcess, agents: AgentProcesses, progress: Progress
) -> tuple[list[RoundSummary], float]:
    """Wait for the rounds, and start what died again; the rounds, oldest first, and the seconds they took."""
    began: float | None = None
    changed = time.monotonic()
    seen: tuple[int, Stage] | None = None
    while True:
        rounds = aggregator.rounds(limit=10 * wish.rounds + 10)
        published = sum(line.stage is Stage.PUBLISHED for line in rounds)
        newest = rounds[0] if rounds else None
        state = None if newest is None else (newest.round, newest.stage)
        if state != seen:
            seen, changed = state, time.monotonic()
            began = began or changed
        if published >= wish.rounds:
            return rounds[::-1], time.monotonic() - (began or changed)
        if time.monotonic() - changed > PATIENCE_SECONDS:
            raise Unavailable(f"nothing happened for {PATIENCE_SECONDS:.0f} s; see the logs in {wish.folder}")
        if newest is None:
            agents.revive(0)
            progress("engines enrol", 0)
        else:
            running = newest.stage in RUNNING
            dead = agents.revive(newest.round if running else newest.round + 1)
            step = f"round {newest.round} {newest.stage.value}" + (f", {dead} agents dead" if dead else "")
            progress(step, published)
        time.sleep(LOOK_SECONDS)


def _newcomers(wish: Wish, engines: Fleet, aggregator: AggregatorProcess) -> tuple[Prior, PredictedRows]:
    """Every new engine enrols as a reader, fetches the prior and verifies it; the first one predicts its whole life."""
    prior: Prior | None = None
    rows: PredictedRows | None = None
    for engine in engines.new:
        name = f"new-{engine.known.name}"
        home = wish.folder / "new-engines" / name
        ticket: Ticket = aggregator.invite(name, "reader")
        enrolment.enrol(home, ticket)
        with Api(ticket.origin, FEDERATION, identity.load(home)) as api:
            prior = published_prior.fetch(home, api).record.prior()
        if rows is None:
            known = {fleet.FEATURE: engine.known.cycles, engines.sensor: engine.known.values}
            rows = predict(prior, known, {fleet.FEATURE: report.grid(engine)})
    if prior is None or rows is None:
        raise Unavailable("there are no new engines")
    return prior, rows


def _verify(wish: Wish) -> tuple[int, bool]:
    try:
        return verify.verify_kept(wish.folder, wish.database).leaves, True
    except FgprError:
        return 0, False


def _aggregate_error(wish: Wish, aggregator: AggregatorProcess, published: list[RoundSummary]) -> float:
    """Largest difference of a published theta from the exact average, or combined averages, of what was trained."""
    notebook, worst = Notebook(wish.folder / "notebook"), 0.0
    for line in published:
        theta, cohort = aggregator.published(line.round)
        plan = aggregator.plan(line.round)
        averages = [notebook.exact_average(line.round, part) for part in plan.parts(cohort) if part]
        worst = max(worst, float(np.max(np.abs(theta - combine_averages(averages, plan.combine)))))
    return worst

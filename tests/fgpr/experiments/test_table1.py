"""Systems of Table 1: by what a kernel is chosen, who takes part in a round, and by whose theta one predicts."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from fgpr.experiments import federations, table1
from fgpr.experiments.models import MENU, model
from fgpr.experiments.problems import draw_problem, problem_named
from fgpr.experiments.records import Cell
from fgpr.federated import partly_private
from fgpr.federated.kernel_choice import Clients, Learned
from fgpr.federated.partly_private import Personal, private_entries
from fgpr.federated.simulation import LocalData, SimulatedRound, simulate
from fgpr.gp.arrays import Array
from fgpr.gp.model import ModelSpec
from fgpr.gp.training_settings import TrainingSettings

DRAWN = draw_problem(problem_named("CURRIN"), "corners", 1)
NAMES = {model(2, name).kernel: name for name in MENU}


def _cell(system: str) -> Cell:
    return Cell("table1", "CURRIN", "corners", system, 1)


@pytest.mark.parametrize(("system", "trained"), [("fgpr-evidence", ["high", "low"]), ("separate-evidence", ["high"])])
def test_a_kernel_is_chosen_by_evidence_and_not_by_its_error(
    system: str, trained: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = {"rbf": 0.1, "matern-5/2": 0.2, "matern-3/2": 0.3, "additive": 0.4}
    losses = {"rbf": 1.0, "matern-5/2": -2.0, "matern-3/2": 0.0, "additive": -1.0}
    densities = {"rbf": 3.0, "matern-5/2": 5.0, "matern-3/2": 2.0, "additive": 4.0}

    def learned(spec: ModelSpec, clients: Clients | LocalData, *_rng: np.random.Generator) -> Learned:
        assert [one.client for one in ([clients] if isinstance(clients, LocalData) else clients)] == trained
        return Learned(spec, spec.initial_theta, losses[NAMES[spec.kernel]])

    def left_out(one: Learned, clients: Clients) -> float:
        assert [client.client for client in clients] == trained
        return densities[NAMES[one.spec.kernel]]

    def off(spec: ModelSpec, _theta: Array, client: LocalData, _X: Array) -> Array:
        assert client.client == "high"
        return DRAWN.y + errors[NAMES[spec.kernel]]

    monkeypatch.setattr(federations, "optimum", learned)
    monkeypatch.setattr(table1, "separate", learned)
    monkeypatch.setattr(table1, "leave_one_out_loss", left_out)
    monkeypatch.setattr(table1, "predicted", off)
    values = table1.run(_cell(system))
    assert values["rmse"] == pytest.approx(0.2)
    assert values["kernel"] == "matern-5/2"
    assert values["rmse by leave-one-out"] == pytest.approx(0.3)
    assert values["kernel by leave-one-out"] == "matern-3/2"
    assert [values[f"rmse of {name}"] for name in errors] == pytest.approx(list(errors.values()))


def test_the_sampled_form_draws_one_client_a_round_by_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    histories: list[list[SimulatedRound]] = []

    def cheap(kernel: Any, data: Any, theta: Any, settings: TrainingSettings, *others: Any, **named: Any) -> Any:
        settings = replace(settings, steps=1, batch_size=4)
        histories.append(simulate(kernel, data, theta, settings, *others, **named))
        return histories[-1]

    monkeypatch.setattr(federations, "simulate", cheap)
    for system in ("fgpr", "fgpr-sampled"):
        table1.run(_cell(system))
    everyone, sampled = ([one.clients for one in history] for history in histories)
    assert set(everyone) == {("high", "low")}
    assert set(sampled) == {("high",), ("low",)}
    # 200 of 240 rows in each of 100 draws: 83 with a standard deviation of 3.7.
    assert len(sampled) == 100
    assert sampled.count(("low",)) == pytest.approx(83, abs=11)


def test_the_private_form_predicts_by_the_theta_of_the_high_fidelity(monkeypatch: pytest.MonkeyPatch) -> None:
    high, low = np.log([1.3, 0.05, 0.4, 0.7]), np.log([0.2, 0.5, 0.4, 0.7])

    def personal(spec: ModelSpec, clients: Clients, kept: str, starts: list[Array]) -> Personal:
        assert [client.client for client in clients] == ["high", "low"]
        assert kept == "both"
        assert starts
        return Personal(spec, private_entries(spec, "both"), np.stack([high, low]))

    monkeypatch.setattr(partly_private, "optimum", personal)
    (own, _), X = DRAWN.clients, DRAWN.X
    peer = GaussianProcessRegressor(ConstantKernel(1.69) * RBF([0.4, 0.7]), alpha=0.0025, optimizer=None)
    expected = np.sqrt(np.mean((peer.fit(own.X, own.y).predict(X) - DRAWN.y) ** 2))
    assert table1.run(_cell("fgpr-private"))["rmse"] == pytest.approx(expected, rel=1e-9)

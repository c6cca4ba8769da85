"""Ratios of a federation's errors and a client's own."""

import numpy as np
import pytest

from fgpr.experiments.catalogue import experiment_named
from fgpr.experiments.judged import summarise
from fgpr.experiments.records import Cell, Record
from fgpr.experiments.sharing import words_of_sharing

TABLE1 = experiment_named("table1")


def _records(system: str, errors: dict[int, float], item: str = "PARK", experiment: str = "table1") -> list[Record]:
    variant = "blocks" if experiment == "table3" else "uniform"
    return [Record(Cell(experiment, item, variant, system, seed), {}, {"rmse": e}, 1.0) for seed, e in errors.items()]


def test_ratios_are_those_of_means_over_common_seeds() -> None:
    records = [*_records("fgpr", {1: 0.1, 2: 0.3, 9: 7.0}), *_records("separate", {1: 0.2, 2: 0.6, 3: 50.0})]
    lines = words_of_sharing(TABLE1, summarise(TABLE1, records))
    assert "| FGPR, FedAvg with Adam, RBF over Separate, RBF | uniform |  | 0.500 +- 0.000 |  |  |  |" in lines
    assert len([line for line in lines if line.startswith("| FGPR")]) == 1


def test_the_interval_is_that_of_pairs() -> None:
    rng = np.random.default_rng(3)
    alone = rng.lognormal(0.0, 1.0, 200)
    ratios = rng.normal(0.8, 0.1, 200)
    records = [
        *_records("fgpr", dict(enumerate((alone * ratios).tolist()))),
        *_records("separate", dict(enumerate(alone.tolist()))),
    ]
    (line,) = [one for one in words_of_sharing(TABLE1, summarise(TABLE1, records)) if one.startswith("| FGPR")]
    ratio, reach = (float(part) for part in line.split("|")[4].split("+-"))
    assert ratio == pytest.approx(0.8, abs=0.05)
    # Another way: the ratio of means of pairs drawn again, 4,000 times.
    drawn = rng.integers(200, size=(4000, 200))
    again = (alone * ratios)[drawn].mean(axis=1) / alone[drawn].mean(axis=1)
    assert reach == pytest.approx(np.diff(np.quantile(again, (0.05, 0.95))).item() / 2, rel=0.1)


def test_intervals_of_few_seeds_are_as_wide_as_they_say() -> None:
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(400):
        alone, ratios = rng.normal(1.0, 0.05, 4), rng.normal(0.9, 0.05, 4)
        records = [
            *_records("fgpr", dict(enumerate((alone * ratios).tolist()))),
            *_records("separate", dict(enumerate(alone.tolist()))),
        ]
        (line,) = [one for one in words_of_sharing(TABLE1, summarise(TABLE1, records)) if one.startswith("| FGPR")]
        ratio, reach = (float(part) for part in line.split("|")[4].split("+-"))
        held += abs(ratio - 0.9) <= reach
    assert held / 400 == pytest.approx(0.9, abs=0.04)


def test_one_run_stands_for_all_seeds_where_nothing_is_random() -> None:
    table3 = experiment_named("table3")
    records = [
        *_records("fgpr", {100: 0.2, 101: 0.4}, "1", "table3"),
        *_records("separate", {100: 0.6}, "1", "table3"),
    ]
    (line,) = [one for one in words_of_sharing(table3, summarise(table3, records)) if one.startswith("| FGPR")]
    # Residuals -.1 and .1, their error .1 over .6, and t of one degree of freedom at .95, which is tan(.45 pi).
    assert line == (
        "| FGPR, FedAvg with Adam, Matern-3/2 over GP of each device alone | blocks | 0.500 +- 1.052 |  |  |  |"
    )


def test_what_targets_are_judged_by_stands_beside_the_network() -> None:
    table3 = experiment_named("table3")
    records = [
        *_records("fgpr-shared", {100: 0.3}, "7", "table3"),
        *_records("ditto", {100: 0.5, 101: 0.6, 102: 0.7}, "7", "table3"),
    ]
    (title, line) = [
        one
        for one in words_of_sharing(table3, summarise(table3, records))
        if one.startswith(("Beside a federated network", "| FGPR"))
    ]
    assert "below 1 where FGPR is ahead" in title
    # Residuals .05, 0 and -.05, whose error is .05 over .6 and the root of 3; t of two degrees of freedom is 2.920.
    assert line == (
        "| FGPR, mean and covariance shared, by evidence over Neural, Ditto | blocks |  |  |  | 0.500 +- 0.140 |"
    )


def test_one_run_each_of_what_has_nothing_random_has_no_interval() -> None:
    table3 = experiment_named("table3")
    records = [
        *_records("fgpr", {100: 0.2}, "1", "table3"),
        *_records("separate", {100: 0.4}, "1", "table3"),
    ]
    (line,) = [one for one in words_of_sharing(table3, summarise(table3, records)) if one.startswith("| FGPR")]
    assert line.endswith("| blocks | 0.500 |  |  |  |")


def test_without_common_seeds_there_is_nothing_to_say() -> None:
    records = [*_records("fgpr", {1: 0.1}), *_records("separate", {2: 0.1})]
    assert words_of_sharing(TABLE1, summarise(TABLE1, records)) == []
    assert words_of_sharing(experiment_named("theorems"), {}) == []

"""Means over seeds, ratios over the seeds that both sides have, and targets, on records made here."""

import pytest

from fgpr.experiments.catalogue import experiment_named, settings_of
from fgpr.experiments.judged import Entry, judge, summarise
from fgpr.experiments.records import Cell, Record


def record(experiment: str, item: str, variant: str, system: str, seed: int, rmse: float) -> Record:
    cell = Cell(experiment, item, variant, system, seed)
    return Record(cell, settings_of(cell), {"rmse": rmse, "sd": 0.1}, 1.0)


def test_means_and_deviations_over_seeds() -> None:
    table1 = experiment_named("table1")
    table = summarise(
        table1,
        [record("table1", "PARK", "corners", "fgpr", seed, rmse) for seed, rmse in ((1, 0.1), (2, 0.3), (3, 0.8))],
    )
    entry = table["corners", "PARK", "fgpr"]
    assert (entry.mean, entry.sd, entry.seeds, entry.inner) == pytest.approx((0.4, 0.36055513, 3, 0.1))
    assert Entry({1: 0.1}).sd is None
    assert Entry({1: 0.1, 2: 0.2}, deterministic=True).sd is None


def test_a_ratio_is_over_the_seeds_that_both_have() -> None:
    ours = Entry({1: 0.1, 2: 0.3, 3: 9.0})
    assert ours.over(Entry({1: 0.3, 2: 0.5, 4: 0.01})) == pytest.approx((0.5, 2))
    assert ours.over(Entry({4: 0.1})) == (None, 0)


def test_what_is_deterministic_stands_for_all_seeds_of_the_other_side() -> None:
    fixed, other = Entry({1: 0.2}, deterministic=True), Entry({2: 0.3, 3: 0.5})
    assert fixed.over(other) == pytest.approx((0.5, 2))
    assert other.over(fixed) == pytest.approx((2.0, 2))
    assert fixed.over(fixed) == pytest.approx((1.0, 1))


def test_targets_that_are_ratios_say_their_common_seeds() -> None:
    # Over all seeds Ditto's mean would be .19 and FGPR would be ahead.
    records = [
        record("table3", "1", "random", "fgpr-shared", 100, 0.17),
        record("table3", "1", "random", "ditto", 100, 0.16),
        record("table3", "1", "random", "ditto", 101, 0.22),
        *(record("table2", "4", "", "fgpr", seed, rmse) for seed, rmse in ((100, 0.5), (101, 0.9))),
        *(record("table2", "4", "", system, 100, 0.49) for system in ("fgpr-optimum", "polynomial", "neural")),
    ]
    table2, table3 = experiment_named("table2"), experiment_named("table3")
    judged = {one.name: one for one in judge(table3, summarise(table3, records))}
    ditto = judged["output 1, random: FGPR over Ditto"]
    assert ditto.value == pytest.approx(0.17 / 0.16)
    assert (ditto.met, ditto.seeds) == (False, 1)
    judged = {one.name: one for one in judge(table2, summarise(table2, records))}
    for name, met in (("the exact optimum", True), ("polynomial", False), ("neural", False)):
        one = judged[f"sensor 4: FGPR over {name}"]
        assert one.value == pytest.approx(0.5 / 0.49)
        assert (one.met, one.seeds) == (met, 1)


def test_targets_of_table_1() -> None:
    table1 = experiment_named("table1")
    table = summarise(
        table1,
        [
            record("table1", "CURRIN", "corners", "fgpr-evidence", 1, 0.148),
            record("table1", "PARK", "corners", "fgpr-evidence", 1, 0.0121),
            record("table1", "BRANIN", "uniform", "fgpr-evidence", 1, 9.0),
        ],
    )
    judged = {one.name: one for one in judge(table1, table)}
    assert judged["CURRIN, corners: FGPR"].met is True
    assert judged["PARK, corners: FGPR"].met is False
    assert judged["BRANIN, uniform: FGPR"].met is None
    assert judged["Borehole, latin: FGPR"].value is None


def test_targets_of_tables_2_and_3() -> None:
    table2 = experiment_named("table2")
    found = [("fgpr", 0.53), ("fgpr-optimum", 0.51), ("polynomial", 0.53)]
    records = [record("table2", "4", "", system, 1, rmse) for system, rmse in found]
    judged = {one.name: one for one in judge(table2, summarise(table2, records))}
    assert judged["sensor 4: FGPR over the exact optimum"].met is False
    assert judged["sensor 4: FGPR over polynomial"].met is False
    assert judged["sensor 4: FGPR over neural"].met is None
    table3 = experiment_named("table3")
    found = [("fgpr-shared", 0.27), ("fgpr-evidence", 0.31), ("fgpr", 0.31), ("ditto", 0.3)]
    records = [record("table3", "1", "random", system, 1, rmse) for system, rmse in found]
    judged = {one.name: one for one in judge(table3, summarise(table3, records))}
    assert judged["output 1, random: FGPR"].met is True
    assert judged["output 1, random: FGPR over Ditto"].met is True

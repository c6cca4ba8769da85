"""An owner's rows: mapped, converted, dropped and counted; with the public cases A8, A9 and B1 to B5 as an owner
meets them."""

import gzip

import numpy as np
import pytest

from client_agent import agent_toml, local_data, own_rows
from client_agent.intake import read_columns
from fgpr.errors import DataError
from fgpr.gp.conditioning import condition_within_memory
from fgpr.gp.local_training import train
from fgpr.gp.model import Feature, ModelSpec, Target
from fgpr.gp.training_settings import TrainingSettings

SPEC = ModelSpec.with_default_bounds((Feature("cycle", "1", 0, 400),), Target("T24", "K", "none"), "rbf")
SENSORS = ModelSpec.with_default_bounds((Feature("cycle", "1", 0, 400),), Target("s2", "degR", "standardise"), "rbf")
B1 = (
    "7 {} 0.0012 -0.0003 100.0 518.67 642.11 1588.05 1401.42 14.62 21.61 554.02 2388.05 9047.33 1.30 47.35 521.91 "
    "2388.04 8137.20 8.4251 0.03 392 2388 100.00 38.97 23.3777  "
)


def read(tmp_path, text, toml="", spec=SPEC, name="rows.csv", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return own_rows.read(spec, path, agent_toml.parse(toml, tmp_path / "agent.toml"), **options)


def test_mapped_and_converted(tmp_path):
    columns, report = read(
        tmp_path,
        "Flight,LPC outlet,tail,note\n1,-273.15,D-1,fine\n2,26.85,D-1,\n",
        "[columns.cycle]\nfrom = 'Flight'\n[columns.T24]\nfrom = 'LPC outlet'\nunit = 'degC'",
    )
    assert columns["cycle"].tolist() == [1.0, 2.0]
    assert columns["T24"] == pytest.approx([0.0, 300.0])
    assert (report.read, report.used, report.columns) == (2, 2, {"cycle": "Flight", "T24": "LPC outlet"})
    assert report.converted == {"T24": "degC to K: 0 becomes 273.15, 1 becomes 274.15"}
    assert report.others == {"tail": "not needed", "note": "not needed"}


def test_rows_with_holes_are_dropped_and_counted(tmp_path):
    columns, report = read(
        tmp_path,
        "cycle,T24,other\n1,300,\n2,,5\n3,NaN,x\n,300,5\n5,n/a,5\n6,-999,5\n7,307,5\n",
        "[data]\nmissing = ['n/a', -999]",
    )
    assert columns["cycle"].tolist() == [1.0, 7.0]
    assert (report.read, report.used, report.dropped_missing) == (7, 2, 5)
    assert report.missing == {"T24": 4, "cycle": 1}
    assert report.lines()[1] == "dropped 5 rows without a value (cycle: 1, T24: 4)"


@pytest.mark.parametrize("marker", ["n/a", "-"])
def test_a_marker_that_was_not_declared_is_no_hole(tmp_path, marker):
    with pytest.raises(DataError, match=rf"rows\.csv, line 3, column 'T24': '{marker}' is not a number"):
        read(tmp_path, f"cycle,T24\n1,300\n2,{marker}\n")


def test_infinity_is_always_refused(tmp_path):
    with pytest.raises(DataError, match="column 'T24': inf is not a finite number"):
        read(tmp_path, "cycle,T24\n1,300\n2,inf\n", "[data]\nmissing = ['x']\n")


def test_rows_out_of_range_are_dropped_and_counted_or_refused(tmp_path):
    text = "cycle,T24\n0,300\n-1,300\n400,300\n400.001,300\n7,300\n"
    columns, report = read(tmp_path, text)
    assert columns["cycle"].tolist() == [0.0, 400.0, 7.0]
    assert (report.dropped_out_of_range, report.out_of_range, report.doubtful) == (2, {"cycle": 2}, False)
    with pytest.raises(DataError, match=r"line 3: cycle is -1 1, outside 0 to 400 1; 2 such rows"):
        read(tmp_path, text, "[data]\nout_of_range = 'refuse'")


def test_a_limit_stays_a_limit_when_it_is_converted(tmp_path):
    spec = ModelSpec.with_default_bounds((Feature("t", "degR", 518.67, 600),), Target("y", "1", "none"), "rbf")
    # 59 degF is 518.67 degR, which rounding puts beside it.
    columns, report = read(tmp_path, "t,y\n59,1\n15,1\n", "[columns.t]\nunit = 'degF'", spec)
    assert (columns["t"].tolist(), report.used) == ([518.67], 1)


def test_most_rows_out_of_range_is_told_and_none_left_is_refused(tmp_path):
    _, report = read(tmp_path, "cycle,T24\n1,300\n1000,300\n2000,300\n")
    assert "are columns and units the right ones?" in report.lines()[2]
    with pytest.raises(DataError, match=r"no row is left\. dropped 1 rows out of range \(cycle: 1\)"):
        read(tmp_path, "cycle,T24\n1000,300\n")


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("[columns.T42]\nfrom='x'", r"\[columns\.T42\] is neither .*; did you mean 'T24'\?; those are cycle, T24"),
        ("[columns.T24]\nfrom='T_24'", r"no column 'T_24' among the 2 columns cycle, T24; did you mean 'T24'\?"),
        ("[columns.T24]\nunit='degX'", "column 'T24': no unit is known by the own name 'degX'"),
        ("[columns.T24]\nunit='kPa'", "column 'T24': 'kPa' .*cannot be converted to the federation's 'K'"),
        ("[data]\nunit=3", "no column 'unit' among"),
    ],
)
def test_settings_that_do_not_fit(tmp_path, toml, said):
    with pytest.raises(DataError, match=said):
        read(tmp_path, "cycle,T24\n1,300\n", toml)


def test_one_unit_and_rows_that_name_none(tmp_path):
    text = "unit,cycle,T24\n1,1,300\n2,1,400\n,2,500\n2,2,401\n"
    columns, report = read(tmp_path, text, "[data]\nunit = 1", unit=2)
    assert columns["T24"].tolist() == [400.0, 401.0]
    assert (report.read, report.used, report.missing) == (3, 2, {"unit": 1})
    with pytest.raises(DataError, match="no row of unit 9; there are 2 units, 1 to 2"):
        read(tmp_path, text, unit=9)


def test_one_column_is_not_two(tmp_path):
    for toml, options in (("[columns.T24]\nfrom = 'cycle'", {}), ("", {"target": "cycle"})):
        with pytest.raises(DataError, match="your column 'cycle' would be both cycle and T24"):
            read(tmp_path, "cycle,T24\n1,640\n", toml, **options)


def test_rows_of_several_units_that_nobody_told_apart_are_told(tmp_path):
    text = "unit,cycle,T24\n1,1,640\n1,2,641\n2,1,600\n"
    assert "rows of 2 units are taken for those of one: --unit, or unit in agent.toml, names one" in (
        read(tmp_path, text)[1].lines()
    )
    for told in (
        read(tmp_path, text, unit=1)[1],
        read(tmp_path, text.replace("\n2,", "\n1,").replace("1,1,600", "1,3,600"))[1],
    ):
        assert not any(line.startswith("rows of") for line in told.lines())


def test_inputs_are_mapped_and_converted_and_none_is_dropped(tmp_path):
    spec = ModelSpec.with_default_bounds(
        (Feature("cycle", "1", 0, 400), Feature("T2", "K", 200, 400)), Target("s4", "degR", "none"), "rbf"
    )
    path = tmp_path / "at.csv"
    settings = agent_toml.parse("[columns.T2]\nfrom = 'inlet'\nunit = 'degC'\n[columns.s4]\nfrom = 'EGT'", path)
    path.write_text("cycle,inlet,note\n1,-73.15,a\n2,15,b\n")
    found = own_rows.inputs(spec, path, settings)
    assert (found["cycle"].tolist(), found["T2"]) == ([1.0, 2.0], pytest.approx([200.0, 288.15]))
    # Rounding does not carry a limit beyond itself.
    assert spec.arrange(found).shape == (2, 2)
    path.write_text("cycle,inlet\n1,\n")
    with pytest.raises(DataError, match=r"line 2, column 'inlet'"):
        own_rows.inputs(spec, path, settings)


def test_rows_that_count_before_the_model_is_known(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("cycle,T24,spare\n1,640,\n2,,\n3,642,1\n")
    everything, named = (agent_toml.parse(toml, path) for toml in ("", "[columns.cycle]\n[columns.T24]\n"))
    assert (own_rows.count(path, everything), own_rows.count(path, named)) == (1, 2)
    path.write_text("cycle,T24,spare\n1,640,\n")
    with pytest.raises(DataError, match=r"none of 1 rows is whole in T24, cycle, spare: name your columns"):
        own_rows.count(path, everything)
    with pytest.raises(DataError, match=r"no column 'T_24' .*did you mean 'T24'"):
        own_rows.count(path, agent_toml.parse("[columns.T24]\nfrom = 'T_24'", path))


def test_a_half_written_last_line_waits(tmp_path):
    columns, report = read(tmp_path, "cycle,T24\n1,300\n2,301\n3,30")
    assert (columns["cycle"].tolist(), report.unfinished) == ([1.0, 2.0], True)
    assert "waits for the next round" in report.lines()[-1]
    # Half a character, half a row, half a quoted cell.
    for half in (b"3,30\xc3", b"3", b'3,"30'):
        assert read(tmp_path, b"cycle,T24\n1,300\n2,301\n" + half)[1].used == 2
    assert read(tmp_path, "cycle,T24\n1,300\n3,30", "[data]\ngrowing = false")[0]["T24"].tolist() == [300.0, 30.0]
    assert not read(tmp_path, "cycle,T24\n1,300\n  \t")[1].unfinished
    with pytest.raises(DataError, match="no line is finished yet"):
        read(tmp_path, "cycle,T")


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(B1.format(cycle) for cycle in (1, 2, 3)) + "\n",
        "\t".join("\n".join(B1.format(cycle) for cycle in (3, 2, 1)).split(" ")) + "\n",
        "\n".join(B1.format(cycle).replace(" ", "  ") for cycle in (1, 2, 3)) + "\n\n   \n",
        "﻿" + "\r\n".join(B1.format(cycle) for cycle in (1, 2, 3)) + "\r\n",
    ],
)
def test_b1_and_b2_three_rows_of_every_variant(tmp_path, text):
    columns, report = read(tmp_path, text, spec=SENSORS, name="train.txt", unit=7)
    assert (report.read, report.used, report.dropped_missing) == (3, 3, 0)
    assert (columns["cycle"].tolist(), columns["s2"].tolist()) == ([1.0, 2.0, 3.0], [642.11] * 3)


def test_b2_utf16_is_refused_by_name(tmp_path):
    with pytest.raises(DataError, match="UTF-16"):
        read(tmp_path, (B1.format(1) + "\n").encode("utf-16"), spec=SENSORS)


def test_b4_every_engine_has_rows_or_a_reason(tmp_path):
    lengths = {1: 1, 2: 2, 3: 3, 4: 29, 5: 30, 6: 200}
    lines = [f"{unit},{cycle},{cycle % 7}" for unit, length in lengths.items() for cycle in range(1, length + 1)]
    text = "unit,cycle,T24\n" + "\n".join(lines) + "\n"
    outcomes = {}
    for unit, length in lengths.items():
        columns, report = read(tmp_path, text, unit=unit)
        assert report.used == length
        rows = local_data.arrange(SPEC, columns)
        try:
            found = train(SPEC.correlation, rows.X, rows.y, SPEC.initial_theta, TrainingSettings(steps=1), SPEC.bounds,
                          np.random.default_rng(0))  # fmt: skip
            outcomes[unit] = found.observations
        except DataError as error:
            outcomes[unit] = str(error)
    assert {unit: outcomes[unit] for unit in (4, 5, 6)} == {4: 29, 5: 30, 6: 200}
    assert all(f"too few rows: {lengths[unit]}, at least 4" in outcomes[unit] for unit in (1, 2, 3))


def test_b5_repeated_cycles_are_refused_and_units_stay_as_given(tmp_path):
    text = "unit,cycle,T24\n4,1,300\n1,2,301\n2,1,302\n1,1,303\n"
    assert read(tmp_path, text, unit=1)[0]["T24"].tolist() == [303.0, 301.0]
    with pytest.raises(DataError, match="no row of unit 3; there are 3 units, 1 to 4"):
        read(tmp_path, text, unit=3)
    with pytest.raises(DataError, match="line 6: unit 1 has cycle 1 already in line 5"):
        read(tmp_path, text + "1,1,9\n", unit=1)


def test_a8_a_row_without_a_target_is_dropped_and_does_not_count(tmp_path):
    columns, report = read(tmp_path, "cycle,T24\n1,1\n2,NaN\n3,3\n4,4\n")
    assert (report.used, report.dropped_missing) == (3, 1)
    rows = local_data.arrange(SPEC, columns)
    # s2 = 4, l = 1, n = 0.1: theta is log of signal sd, noise sd, length-scale.
    theta = np.log([2.0, np.sqrt(0.1), 1.0])
    found = condition_within_memory(SPEC.correlation, theta, rows.X, rows.y).predict(np.array([[2.0]]))
    assert found.mean[0] == pytest.approx(1.4483625, abs=1e-6)
    assert found.latent_variance[0] == pytest.approx(1.2509670, abs=1e-6)
    # What training would count is what is sent as the weight.
    assert rows.y.size == 3


def test_a9_a_whole_file_as_one_client_is_refused_before_its_matrix(tmp_path):
    lines = [B1.format(cycle) for cycle in range(1, 20_632)]
    packed = gzip.compress("\n".join([*lines, ""]).encode(), 1)
    spec = ModelSpec.with_default_bounds((Feature("cycle", "1", 0, 30_000),), Target("s2", "degR", "none"), "rbf")
    columns, report = read(tmp_path, packed, spec=spec, name="train.txt.gz")
    assert report.used == 20_631
    columns["s2"] = columns["s2"] + np.sin(columns["cycle"])
    rows = local_data.arrange(spec, columns)
    with pytest.raises(DataError, match=r"20,?631 rows .*20,?631 x 20,?631"):
        train(spec.correlation, rows.X, rows.y, spec.initial_theta, TrainingSettings(), spec.bounds,
              np.random.default_rng(0))  # fmt: skip


@pytest.mark.data
def test_real_engines_lose_no_row(real_data):
    path = real_data / "cmapss" / "train_FD001.txt"
    columns, report = own_rows.read(SENSORS, path, agent_toml.AgentToml(), unit=1)
    assert (report.used, report.read) == (192, 192)
    np.testing.assert_array_equal(columns["s2"], read_columns(path, unit=1)["s2"])

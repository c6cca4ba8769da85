"""`fgpr-agent predict`: what it prints, writes and refuses. `test_cli.py` has its way to the prior."""

import csv
import io
import json
import os
import time

import pytest
from typer.testing import CliRunner

from client_agent.cli import app
from support.agent_home import AgentHome
from support.federation import Federation

ROWS = "cycle,T24\n" + "".join(f"{cycle},{642 + 0.02 * cycle + 0.3 * (-1) ** cycle}\n" for cycle in range(1, 21))
ME = "client-00"


@pytest.fixture(scope="module")
def federation():
    return Federation(4)


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(ROWS)
    return path


def predict(*arguments, **options):
    environment = {"COLUMNS": "160"} | options.pop("env", {})
    return CliRunner().invoke(app, ["predict", *(str(argument) for argument in arguments)], env=environment, **options)


def test_for_people(home, rows):
    done = predict("--home", home, "--data", rows)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "T24: 20 rows, prior 0 of engines, verified just now" in done.stdout
    # The next 20 cycles, 12 of them in the table: the first and the last.
    assert "12 of 20 points; --out writes all of them" in done.stdout
    assert [word in done.stdout for word in (" 21 ", " 40 ", "95 % of measurements")] == [True] * 3


def test_ahead_and_the_local_fit(home, rows, tmp_path):
    out = tmp_path / "out.csv"
    done = predict("--home", home, "--data", rows, "--ahead", 3, "--compare-local", "--fine-tune", "--out", out)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "fine-tuned: signal sd 1 to " in done.stdout
    lines = list(csv.DictReader(io.StringIO(out.read_text())))
    assert [line["cycle"] for line in lines] == ["21.0", "22.0", "23.0"]
    assert all(float(line["local_lower_95"]) < float(line["local_upper_95"]) for line in lines)


def test_json_is_all_of_standard_output(home, rows, tmp_path):
    done = predict("--home", home, "--data", rows, "--threshold", 700, "--ahead", 80, "--json")
    assert done.exit_code == 0
    (told,) = json.loads(done.stdout)["sensors"]
    assert (told["target"], told["prior"]["fresh"], len(told["predictions"])) == ("T24", True, 80)
    assert told["remaining"]["probability_none"] > 0.9
    assert "T24: cycle 100 comes before the trend is at or above 700 degR" in done.stderr
    written = predict("--home", home, "--data", rows, "--ahead", 80, "--out", tmp_path / "out.json")
    assert f"wrote {tmp_path / 'out.json'}" in written.stdout
    assert json.loads((tmp_path / "out.json").read_text())["sensors"][0]["predictions"] == told["predictions"]


def test_several_sensors_are_several_homes(home, aggregator, rows, tmp_path):
    other = AgentHome(aggregator.federation, ME, tmp_path / "other").home
    out = tmp_path / "both.svg"
    done = predict("--home", home, "--home", other, "--data", rows, "--out", "-", "--picture", out)
    assert done.exit_code == 0
    assert len(done.stdout.splitlines()) == 41
    assert done.stderr == f"wrote {out}\n"
    assert out.read_text().count("95 % of measurements") == 2
    from_environment = predict("--data", rows, "--out", "-", env={"FGPR_HOME": f"{home}{os.pathsep}{other}"})
    assert from_environment.stdout == done.stdout


def test_offline_asks_nobody_and_tells_the_age(aggregator, home, rows):
    assert "holds no prior yet" in predict("--home", home, "--data", rows, "--offline").stderr
    assert predict("--home", home, "--data", rows).exit_code == 0
    asked = aggregator.requests
    past = time.time() - 3 * 86_400
    os.utime(home / "prior.json", (past, past))
    done = predict("--home", home, "--data", rows, "--offline")
    assert (done.exit_code, aggregator.requests) == (0, asked)
    assert "prior 0 of engines, verified 3 days ago" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--at", "1:5:1", "--ahead", "3"), "not both"),
        (("--json", "--out", "x.csv"), "give one"),
        (("--home", "other", "--threshold", "3"), "give one home"),
        (("--home", "other", "--target", "T"), "give one home"),
        (("--ahead", "0"), "--ahead"),
        (("--threshold", "3", "--direction", "up"), "--direction"),
    ],
)
def test_mistakes_of_use(home, rows, arguments, said):
    done = predict("--home", home, "--data", rows, *arguments)
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.replace("│", " ").split())


def test_a_picture_that_cannot_be_is_refused_before_anybody_is_asked(aggregator, home, rows, tmp_path):
    done = predict("--home", home, "--data", rows, "--picture", tmp_path / "x.pdf")
    assert (done.exit_code, aggregator.requests) == (1, 0)
    assert done.stderr.startswith("fgpr-agent: a picture is PNG or SVG")


def test_the_bands_of_the_rows_scale_are_narrower(home, rows):
    widths = []
    for scale in ("--own-scale", "--rows-scale"):
        done = predict("--home", home, "--data", rows, scale, "--out", "-")
        line = next(csv.DictReader(io.StringIO(done.stdout)))
        widths.append(float(line["upper_95"]) - float(line["lower_95"]))
    assert widths[0] != widths[1]


def test_settings_hold_for_rows_and_for_the_file_of_inputs(home, tmp_path):
    config, data, at = (tmp_path / name for name in ("mine.toml", "mine.csv", "at.csv"))
    config.write_text("[data]\nfile = 'mine.csv'\n[columns.cycle]\nfrom = 'Flight'\nunit = 'percent'\n")
    data.write_text("Flight,T24\n" + "".join(f"{100 * cycle},{642 + 0.02 * cycle**2}\n" for cycle in range(1, 21)))
    at.write_text("Flight,note\n2500,a\n3000,b\n")
    done = predict("--home", home, "--config", config, "--at", at, "--out", "-")
    assert done.exit_code == 0, done.stderr
    assert [line["cycle"] for line in csv.DictReader(io.StringIO(done.stdout))] == ["25.0", "30.0"]

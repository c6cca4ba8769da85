"""Forecasts, their files and their pictures."""

import builtins
import csv
import io
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from client_agent import forecast, forecast_files, local_data, picture, predict
from client_agent.forecast import Wishes
from client_agent.forecast_files import Sensor
from client_agent.published_prior import PublishedPrior
from fgpr.errors import DataError
from fgpr.federated import publication
from fgpr.federated.fine_tuning import fine_tune, fit_alone
from fgpr.gp.model import Feature, ModelSpec, Prior, Target

CYCLE = Feature("cycle", "cycles", 0.0, 300.0)
RNG = np.random.default_rng(5)
CYCLES = np.arange(1.0, 21.0)
ROWS = {
    "cycle": CYCLES,
    "s4": 1400.0 + 0.3 * CYCLES + RNG.standard_normal(20),
    "s7": 554.0 - 0.05 * CYCLES + 0.1 * RNG.standard_normal(20),
}
NOW = datetime(2031, 3, 9, 12, 0, tzinfo=UTC)


def spec_of(target: str, features: tuple[Feature, ...] = (CYCLE,)) -> ModelSpec:
    return ModelSpec.with_default_bounds(features, Target(target, "degR", "standardise"), "rbf")


def prior_of(target: str) -> Prior:
    return Prior(spec_of(target), np.log([1.6, 0.6, 70.0]), 0)


def sensor(target: str = "s4", where: forecast.Where | None = None, **wishes: object) -> Sensor:
    published = PublishedPrior(
        publication.initial("engines", spec_of(target)), 5, fresh=False, verified_at=NOW - timedelta(hours=3)
    )
    made = forecast.forecast(
        prior_of(target),
        ROWS,
        where or (lambda spec, rows: predict.ahead(spec, rows, 5)),
        Wishes(**wishes),  # type: ignore[arg-type]
    )
    return Sensor(published, made)


def test_csv_holds_every_digit() -> None:
    made = sensor()
    lines = list(csv.DictReader(io.StringIO(forecast_files.to_csv([made]))))
    assert list(lines[0]) == ["cycle", "mean", "sd_latent", "sd_observation", "lower_95", "upper_95"]
    assert [float(line["cycle"]) for line in lines] == [21.0, 22.0, 23.0, 24.0, 25.0]
    for name in forecast_files.COLUMNS:
        assert [float(line[name]) for line in lines] == getattr(made.forecast.predicted, name).tolist()


def test_csv_of_several_sensors_and_a_local_fit() -> None:
    both = [sensor("s4", compare_local=True), sensor("s7", compare_local=True)]
    lines = list(csv.DictReader(io.StringIO(forecast_files.to_csv(both))))
    assert [line["target"] for line in lines] == ["s4"] * 5 + ["s7"] * 5
    local = both[1].forecast.local
    assert local is not None
    assert [float(line["local_upper_95"]) for line in lines[5:]] == local.upper_95.tolist()


def test_csv_of_models_with_other_features_is_refused() -> None:
    spec = spec_of("s7", (CYCLE, Feature("load", "1", 0.0, 1.0)))
    rows = ROWS | {"load": np.full(20, 0.5)}
    other = forecast.forecast(Prior(spec, spec.initial_theta, 0), rows, lambda *_: {"cycle": [30.0], "load": [0.5]})
    with pytest.raises(DataError, match="s7 depends on cycle, load, s4 on cycle: one CSV file cannot hold both"):
        forecast_files.to_csv([sensor(), Sensor(sensor().published, other)])


def test_json_says_where_everything_comes_from() -> None:
    made = sensor(threshold=1410.0, sigma=0.3, compare_local=True)
    (told,) = json.loads(forecast_files.to_json([made], NOW))["sensors"]
    assert (told["federation"], told["target"], told["rows"], told["fine_tuned"]) == ("engines", "s4", 20, True)
    assert told["prior"] == {
        "version": 0,
        "theta_version": 0,
        "leaf": 5,
        "fresh": False,
        "verified_at": "2031-03-09T09:00:00Z",
        "age_seconds": 10_800,
    }
    assert [line["cycle"] for line in told["predictions"]] == [21.0, 22.0, 23.0, 24.0, 25.0]
    assert told["predictions"][0]["mean"] == made.forecast.predicted.mean[0]
    assert told["local"]["predictions"][0]["mean"] == made.forecast.local.mean[0]  # type: ignore[union-attr]
    assert told["remaining"]["horizon"] == 300.0


def test_the_local_fit_and_fine_tuning_are_those_of_the_library() -> None:
    made = sensor(compare_local=True, sigma=0.2).forecast
    rows = local_data.arrange(spec_of("s4"), ROWS)
    assert made.local_prior is not None
    assert made.local_prior.theta == pytest.approx(fit_alone(spec_of("s4"), rows.X, rows.y).theta)
    assert made.device.prior.theta == pytest.approx(fine_tune(prior_of("s4"), rows.X, rows.y, 0.2).theta)
    assert made.tuned
    assert not sensor().forecast.tuned


def test_a_note_where_the_rows_tell_little() -> None:
    assert sensor().forecast.notes == ()
    far = sensor(where=lambda spec, rows: predict.ahead(spec, rows, 270)).forecast
    (note,) = far.notes
    assert "explain less than 37% of the variance (length-scale 70 cycles)" in note
    assert far.device.own_scale is not None
    mean = far.device.rows.scaling.to_original(far.device.own_scale.mean)
    assert note.endswith(f"goes back to the prior's mean, {mean:.6g} degR")
    # And so it does.
    assert far.predicted.mean[-1] == pytest.approx(float(mean), abs=0.05)


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_a_picture_holds_a_panel_a_sensor(tmp_path: Path, suffix: str) -> None:
    sensors = [sensor("s4", curve=True, compare_local=True, threshold=1410.0), sensor("s7", curve=True)]
    path = tmp_path / f"engine{suffix}"
    picture.draw(path, sensors)
    raw = path.read_bytes()
    if suffix == ".png":
        assert raw.startswith(b"\x89PNG\r\n")
        # Two panels of 3.6 inches at 120 dots: width and height stand in the header.
        assert (int.from_bytes(raw[16:20]), int.from_bytes(raw[20:24])) == (960, 864)
        return
    texts = re.findall(r"<text[^>]*>([^<]+)</text>", raw.decode())
    assert "cycle (cycles)" in texts
    assert {"s4 (degR)", "s7 (degR)", "95 % of measurements", "your rows", "threshold 1410"} <= set(texts)
    assert "engines, prior 0: s7 from 20 rows" in texts
    picture.draw(tmp_path / "again.svg", sensors)
    assert (tmp_path / "again.svg").read_bytes() == raw


def test_a_picture_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has to end in \.png or \.svg"):
        picture.check(tmp_path / "engine.pdf")


def test_without_matplotlib_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: object, **more: object) -> object:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(DataError, match=r"pip install 'fgpr\[agent,picture\]'"):
        picture.check(tmp_path / "engine.png")


def test_several_features_cannot_be_drawn() -> None:
    spec = spec_of("s4", (CYCLE, Feature("load", "1", 0.0, 1.0)))
    rows = ROWS | {"load": np.full(20, 0.5)}
    with pytest.raises(DataError, match="2 features"):
        forecast.forecast(
            Prior(spec, spec.initial_theta, 0), rows, lambda *_: {"cycle": [30.0], "load": [0.5]}, Wishes(curve=True)
        )

import numpy as np
import pytest

from fgpr.errors import EncodingError
from fgpr.gp.training_settings import TrainingSettings


def test_settings_travel_as_canonical_json() -> None:
    settings = TrainingSettings("sgd", 0.5, 0.25, 10, 32)
    raw = b'{"batch_size":32,"decay":0.25,"learning_rate":0.5,"optimiser":"sgd","steps":10}'
    assert settings.encode() == raw
    assert TrainingSettings.decode(raw) == settings
    full = TrainingSettings("sgd", 0.5, 0.25, 10, 32, 2, "nearest", 1.5, 10.0)
    assert TrainingSettings.decode(full.encode()) == full
    assert {"epochs", "batches", "tau", "max_gradient"} <= full.to_json().keys()
    assert TrainingSettings.from_json({}) == TrainingSettings("adam", 0.1, 0.0, 5, None)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("optimiser", "lbfgs"),
        ("epochs", 0),
        ("epochs", 10_001),
        ("batches", "random"),
        ("tau", 0),
        ("max_gradient", -1),
        ("learning_rate", 0),
        ("learning_rate", -0.1),
        ("learning_rate", "0.1"),
        ("decay", -1),
        ("steps", 0),
        ("steps", 10_001),
        ("steps", 1.5),
        ("batch_size", 1),
        ("batch_size", 2.5),
        ("momentum", 0.9),
    ],
)
def test_settings_that_make_no_training_are_refused(field: str, value: object) -> None:
    with pytest.raises(EncodingError, match=field.replace("_", ".")):
        TrainingSettings.from_json({field: value})


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_settings_are_finite(bad: float) -> None:
    with pytest.raises(EncodingError):
        TrainingSettings(learning_rate=bad)
    with pytest.raises(EncodingError):
        TrainingSettings(decay=bad)
    with pytest.raises(EncodingError, match="tau"):
        TrainingSettings(tau=bad)


def test_what_l_bfgs_does_not_use_is_refused() -> None:
    with pytest.raises(EncodingError, match="tau is 1"):
        TrainingSettings("l-bfgs", tau=1.0)
    with pytest.raises(EncodingError, match="max_gradient is 1"):
        TrainingSettings("l-bfgs", max_gradient=1.0)

import json
import subprocess
import sys

import numpy as np
import pytest

from fgpr.errors import DataError, EncodingError
from fgpr.gp.arrays import Array
from fgpr.gp.conditioning import AnyPosterior, condition_by_neighbours
from fgpr.gp.hyperparameters import Hyperparameters
from fgpr.gp.kernels.kernel import kernel_named
from fgpr.gp.model import Feature, ModelSpec, Prior, Target
from fgpr.gp.posterior import condition
from fgpr.gp.saved_posterior import SavedPosterior
from fgpr.gp.scaling import TargetScaling
from support.kernels import FASTEST

RBF = kernel_named("rbf")
F1_THETA = Hyperparameters(1.0, 0.1, (1.0,)).theta
F1_SCALING = TargetScaling(2.0, 1.0, constant=False)

ELSEWHERE = """
import json, sys
from fgpr.gp.saved_posterior import SavedPosterior
raw, new = sys.stdin.buffer.read().split(b"\\n")
posterior, scaling = SavedPosterior.load(raw).restore()
ours = posterior.predict(json.loads(new))
print(json.dumps([scaling.to_original(ours.mean).tolist(), ours.latent_variance.tolist(), ours.method]))
"""


def in_another_process(raw: bytes, new: Array) -> tuple[list[float], list[float], str]:
    sent = raw + b"\n" + json.dumps(new.tolist()).encode()
    finished = subprocess.run([sys.executable, "-c", ELSEWHERE], input=sent, capture_output=True, check=True)
    mean, variance, method = json.loads(finished.stdout)
    return mean, variance, method


def f1() -> SavedPosterior:
    posterior = condition(RBF, F1_THETA, [0.0, 2.0], F1_SCALING.to_scaled([1.0, 4.0]))
    return SavedPosterior.of(posterior, F1_SCALING, ("time",))


@pytest.mark.slow
def test_case_f1_everything_saved_predicts_the_same_bits_in_a_new_process() -> None:
    here = condition(RBF, F1_THETA, [0.0, 2.0], [-1.0, 2.0]).predict([0.5])
    mean, variance, method = in_another_process(f1().encode(), np.array([0.5]))
    assert mean[0] == pytest.approx(1.5703138, abs=5e-8)
    assert variance[0] == pytest.approx(0.1859590, abs=5e-8)
    assert (mean, variance, method) == ((2.0 + here.mean).tolist(), here.latent_variance.tolist(), "exact")


@pytest.mark.slow
def test_case_f1_theta_alone_is_the_prior_and_says_so() -> None:
    alone = f1().without_rows()
    assert in_another_process(alone.encode(), np.array([0.5])) == ([2.0], [1.0], "prior only")
    assert alone.restore().posterior.prior_only


def grown(name: str, noise: bool, neighbours: bool) -> AnyPosterior:
    rng = np.random.default_rng(6)
    X = np.c_[rng.normal(size=90) * 1e-9, rng.normal(size=90) * 1e9, rng.uniform(size=90)]
    theta = np.log([0.7, 0.11, 1e-9, 3e9, 0.3])
    y, each = rng.normal(size=90), rng.uniform(0.01, 0.1, 90)
    kernel = kernel_named(name)
    posterior: AnyPosterior
    if neighbours:
        posterior = condition_by_neighbours(kernel, theta, X[:60], y[:60], each[:60] if noise else None, neighbours=20)
    else:
        posterior = condition(kernel, theta, X[:60], y[:60], each[:60] if noise else None)
    for part in (slice(60, 61), slice(61, 90)):
        posterior = posterior.append(X[part], y[part], each[part] if noise else None)
    return posterior


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", [False, True])
@pytest.mark.parametrize("noise", [False, True])
@pytest.mark.parametrize("name", FASTEST)
def test_a_grown_posterior_comes_back_bit_for_bit(name: str, noise: bool, neighbours: bool) -> None:
    posterior = grown(name, noise, neighbours)
    new = posterior.observations.X[::7] * 1.01
    here = posterior.predict(new)
    raw = SavedPosterior.of(posterior).encode()
    mean, variance, method = in_another_process(raw, new)
    assert (mean, variance) == (here.mean.tolist(), here.latent_variance.tolist())
    assert method == ("nearest neighbours" if neighbours else "exact")
    assert SavedPosterior.of(SavedPosterior.load(raw).restore().posterior).encode() == raw


def test_the_file_is_plain_json_with_its_version() -> None:
    value = json.loads(f1().encode())
    assert (value["format"], value["version"], value["kernel"]) == ("fgpr-posterior", 1, "rbf")
    assert (value["inputs"], value["targets"], value["features"]) == ([[0], [2]], [-1, 2], ["time"])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": 2}, "of version 2: this release reads version 1"),
        ({"version": None}, "of version None"),
        ({"format": "pickle"}, "not a saved posterior"),
        ({"kernel": "periodical"}, "no kernel"),
        ({"targets": [1]}, "blocks"),
        ({"blocks": [2, -1, 1]}, "blocks"),
        ({"blocks": []}, "blocks"),
        ({"inputs": [[0], [2, 3]]}, "rows of"),
        ({"inputs": [[0]]}, "1 rows of"),
        ({"features": ["a", "b"]}, "names 2 features, theta has 1"),
        ({"target_sd": 0}, "target_sd is 0"),
        ({"theta": [0, "0", 0]}, "theta"),
        ({"noise": None}, "noise"),
        ({"noise": [0.1, 0.1, 0.1]}, "3 noises for 2 targets"),
        ({"noise": [0.1, -0.1]}, "the noise -0.1"),
        ({"jitter_limit": -1}, "jitter_limit is -1"),
        ({"jitter_limit": 1e300}, "jitter_limit is 1e"),
        ({"version": True}, "of version True"),
        ({"version": 1.0}, "of version 1.0"),
        ({"blocks": [0, 2]}, "blocks"),
        ({"blocks": [0] * 200_000 + [2]}, "blocks .* and so on for 2 targets"),
        ({"dimensions": 1}, "says them itself"),
        ({"kernel": "linear", "theta": [0, 0], "dimensions": 2}, "names 1 features, theta has 2"),
        ({"kernel": "linear", "theta": [0, 0], "dimensions": 0}, "0 dimensions"),
        ({"kernel": "linear", "theta": [0, 0, 0]}, "theta has 3 entries, linear has 2"),
        ({"axes": [{"name": "a", "lower": 1, "upper": 1}]}, "axis 'a' goes from 1.0 to 1.0"),
        ({"axes": [{"name": "a", "lower": 2, "upper": 1}]}, "axis 'a'"),
        ({"axes": [{"name": "a", "lower": -1e308, "upper": 1e308}]}, "axis 'a'"),
        ({"axes": [{"name": "a", "lower": 0, "upper": 1}] * 2}, "an axis twice"),
        ({"targets": [2**60, 0]}, "targets hold .* a whole number beyond"),
        ({"neighbours": 0}, "0 neighbours: expected 1 to 16384"),
        ({"neighbours": 10**9}, "1000000000 neighbours"),
        ({"more": 1}, "more"),
    ],
)
def test_a_file_of_another_form_is_refused(change: dict[str, object], says: str) -> None:
    with pytest.raises(EncodingError, match=says):
        SavedPosterior.load(json.dumps({**json.loads(f1().encode()), **change}).encode())


@pytest.mark.parametrize("text", ["linear", "constant", "linear + constant"])
@pytest.mark.parametrize("rows", [0, 4])
def test_a_kernel_whose_theta_does_not_tell_the_features_is_saved_with_their_number(text: str, rows: int) -> None:
    kernel = kernel_named(text)
    X, y = np.arange(8.0).reshape(4, 2)[:rows], np.arange(4.0)[:rows]
    for make in (condition, condition_by_neighbours):
        posterior = make(kernel, np.zeros(kernel.size(2)), X, y)
        saved = SavedPosterior.of(posterior)
        assert saved.to_json()["dimensions"] == 2
        for each in (saved, saved.without_rows()):
            again = SavedPosterior.load(each.encode()).restore().posterior
            assert again.covariance.features == 2
            assert again.predict([[1.0, 2.0]]).mean.shape == (1,)
        restored = SavedPosterior.load(saved.encode()).restore().posterior.predict([[1.0, 2.0]])
        assert restored.mean.tolist() == posterior.predict([[1.0, 2.0]]).mean.tolist()
    assert "dimensions" not in f1().to_json()


def test_numbers_that_its_json_cannot_write_are_named_with_the_remedy() -> None:
    posterior = condition(RBF, [30.0, 0.0, 0.0], [0.0, 1.0], [1e16, 2e16])
    with pytest.raises(EncodingError, match=r"targets hold 10000000000000000, .* scale the target"):
        SavedPosterior.of(posterior)
    larger = condition(RBF, [60.0, 0.0, 0.0], [0.0, 1.0], [1e21, 2e21])
    raw = SavedPosterior.of(larger).encode()
    assert SavedPosterior.of(SavedPosterior.load(raw).restore().posterior).encode() == raw


@pytest.mark.parametrize("neighbours", [None, 50])
def test_what_is_restored_keeps_to_the_memory_it_is_given(neighbours: int | None) -> None:
    x = np.arange(60.0)
    saved = SavedPosterior.of(
        condition(RBF, F1_THETA, x, x)
        if neighbours is None
        else condition_by_neighbours(RBF, F1_THETA, x, x, neighbours=neighbours)
    )
    needed = 8 * (neighbours or 60) ** 2
    with pytest.raises(DataError, match="over the limit"):
        saved.restore(memory_limit=needed - 1)
    assert saved.restore(memory_limit=needed).posterior.memory_limit == needed


@pytest.mark.parametrize("raw", [b"\x80\x04\x95pickle", b"[]", b"", b'{"format":"fgpr-posterior","version":NaN}'])
def test_what_is_no_json_object_is_refused(raw: bytes) -> None:
    with pytest.raises(EncodingError):
        SavedPosterior.load(raw)


def test_what_goes_to_a_server_holds_no_row() -> None:
    marks = (1234.56789, 9876.54321)
    features = (Feature("time", "s", 0.0, 1e5),)
    spec = ModelSpec.with_default_bounds(features, Target("level", "m", "none"), "rbf")
    prior = Prior(spec, spec.initial_theta, 3)
    posterior = condition(spec.correlation, prior.theta, [marks[0]], [marks[1]])
    everything = SavedPosterior.of(posterior, features=spec.feature_names).encode()
    assert all(str(mark).encode() in everything for mark in marks), "the client's own file does hold them"
    sent = (SavedPosterior.of(posterior).without_rows().encode(), spec.encode(), str(prior.theta.tolist()).encode())
    assert not any(str(mark).encode() in message for mark in marks for message in sent)

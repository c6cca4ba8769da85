"""All of FD001 as one client: 20,631 rows train in mini-batches and predict at 1,000 inputs.

Run as `python -m benchmarks.large_client`, in a process of its own so that its peak memory is its own. Where the real
file is not at hand (FGPR_DATA), as many rows of a made-up function are taken.
"""

import json
import sys
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.problem import Floats
from benchmarks.real_data import training_file
from client_agent.cmapss import read_cmapss
from fgpr.errors import DataError
from fgpr.gp.conditioning import condition_within_memory
from fgpr.gp.hyperparameters import Bounds, theta_names
from fgpr.gp.kernels.kernel import kernel_named
from fgpr.gp.local_training import train
from fgpr.gp.posterior import condition
from fgpr.gp.training_settings import TrainingSettings

ROWS = 20_631
NEW = 1_000
FEW = 3_000
FEATURES = ("cycle", "s3", "s4", "s7", "s12")
TARGET = "s11"
SETTINGS = TrainingSettings(steps=100, batch_size=512)


def data() -> tuple[str, Floats, Floats]:
    """(where it comes from, inputs over their ranges, standardised target)."""
    path = training_file()
    if path is not None:
        columns = read_cmapss(path).columns
        source, X, y = "FD001", np.column_stack([columns[name] for name in FEATURES]), columns[TARGET]
    else:
        rng = np.random.default_rng(0)
        X = rng.uniform(size=(ROWS, len(FEATURES)))
        source, y = "made-up rows", np.sin(6.0 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.normal(size=ROWS)
    return source, X / np.ptp(X, axis=0), (y - y.mean()) / y.std()


def main() -> None:
    """Measure, and print one JSON object."""
    source, X, y = data()
    rng = np.random.default_rng(1)
    kernel = kernel_named("matern-3/2")
    d = X.shape[1]
    bounds = Bounds.from_natural(theta_names(d), [1e-2] * (d + 2), [1e2] * (d + 2))
    shuffled = rng.permutation(len(y))
    new, few = shuffled[:NEW], shuffled[NEW : NEW + FEW]

    start = perf_counter()
    update = train(kernel, X, y, np.log([1.0, 0.5, *[0.5] * d]), SETTINGS, bounds, rng)
    posterior = condition_within_memory(kernel, update.theta, X, y)
    posterior.predict(X[new])
    taken = perf_counter() - start
    # Before the exact one on fewer rows, which is there to compare and not part of the client's work.
    peak = _peak_bytes()
    try:
        condition(kernel, update.theta, X, y)
        refusal = ""
    except DataError as error:
        refusal = str(error)

    rest = shuffled[NEW:]
    others = condition_within_memory(kernel, update.theta, X[rest], y[rest])
    exact = condition(kernel, update.theta, X[few], y[few])
    scalable, limited = (_rmse(p.predict(X[new]).mean, y[new]) for p in (others, exact))
    result = {
        "source": source,
        "rows": len(y),
        "method": others.method,
        "seconds": taken,
        "bytes": peak,
        "rmse": scalable,
        "exact_rmse": limited,
        "refusal": refusal,
    }
    sys.stdout.write(json.dumps(result) + "\n")


def _peak_bytes() -> int:
    # Not getrusage: its peak is inherited from the process that started this one.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))


def _rmse(mean: Floats, measured: Floats) -> float:
    return float(np.sqrt(np.mean((mean - measured) ** 2)))


if __name__ == "__main__":
    main()

"""One prediction from a cold start: a new process of `fgpr-agent predict`, offline, from a prior that was kept."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from client_agent import published_prior
from demo import turbofan
from fgpr.gp.model import Feature, ModelSpec, Target
from support.agent_home import AgentHome
from support.federation import Federation

SENSOR = "s4"
CYCLES = 300
SPEC = ModelSpec.with_default_bounds(
    [Feature("cycle", "cycles", 0.0, 400.0)], Target(SENSOR, "degR", "standardise"), "rbf"
)

# What a process took and loaded, told by itself as it ends. The peak is the kernel's for this program alone: what
# `getrusage` says of a child begins with the size of the process that started it.
_LAUNCH = """
import atexit, json, resource, sys
place = sys.argv.pop()
def tell():
    peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
    used = resource.getrusage(resource.RUSAGE_SELF)
    heavy = [name for name in ("matplotlib", "scipy.stats", "scipy.optimize", "httpx", "rich") if name in sys.modules]
    with open(place, "w") as file:
        json.dump({"kilobytes": peak, "cpu": used.ru_utime + used.ru_stime, "heavy": heavy}, file)
atexit.register(tell)
from client_agent.program import main
sys.argv[0] = "fgpr-agent"
main()
"""


@dataclass(frozen=True)
class Start:
    """What one process took.

    Attributes:
        seconds: from its start to its end.
        cpu: seconds of processor time.
        megabytes: of memory, at most at any time.
        heavy: modules that it loaded and that a prediction does not need.
    """

    seconds: float
    cpu: float
    megabytes: float
    heavy: tuple[str, ...]


def prepare(folder: Path, rows: int) -> tuple[Path, Path]:
    """A home that holds a verified prior, and an engine's rows as CSV.

    Args:
        folder: an empty one.
        rows: of the engine, at most 130.
    """
    federation = Federation(4, spec=SPEC)
    reader = AgentHome(federation, "client-00", folder / "home", role="reader")
    published_prior.fetch(reader.home, reader.connection)
    life = turbofan.engines(1, np.random.default_rng(1))[0]
    data = folder / "engine.csv"
    lines = [f"{cycle:g},{value:g}" for cycle, value in zip(life["cycle"][:rows], life[SENSOR][:rows], strict=True)]
    data.write_text("\n".join([f"cycle,{SENSOR}", *lines]) + "\n", encoding="utf-8")
    return reader.home, data


def start(folder: Path, home: Path, data: Path) -> Start:
    """Predict `CYCLES` cycles in a new process.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    out, told = folder / "out.csv", folder / "told.json"
    out.unlink(missing_ok=True)
    arguments = ["predict", "--offline", "--home", str(home), "--data", str(data), "--at", f"1:{CYCLES}:1"]
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", _LAUNCH, *arguments, "--out", str(out), str(told)], check=True, capture_output=True
    )
    seconds = time.perf_counter() - began
    if len(out.read_text(encoding="utf-8").splitlines()) != CYCLES + 1:
        raise ValueError(f"{out} does not hold {CYCLES} predictions")
    seen = json.loads(told.read_text(encoding="utf-8"))
    return Start(seconds, seen["cpu"], seen["kilobytes"] / 1024.0, tuple(seen["heavy"]))

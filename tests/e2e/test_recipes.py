"""docs/recipes.md and the first prediction of README.md, run as they stand against a real aggregator and agents."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo import fleet
from demo.agent_process import AgentTask, write_tasks
from demo.aggregator_process import FEDERATION, AggregatorProcess, federation_of

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "docs" / "recipes.md"
FIRST = ROOT / "docs" / "first-prediction.md"
README = ROOT / "README.md"
EXAMPLE = ROOT / "docs" / "examples" / "new-engine.csv"
ADDRESS, NAMED = "http://127.0.0.1:8000", "turbofan"
"""As the pages write them."""

pytestmark = pytest.mark.slow


def blocks(path: Path, language: str, heading: str = "") -> list[str]:
    text = path.read_text(encoding="utf-8")
    if heading:
        text = text.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands(path: Path, heading: str = "") -> list[tuple[str, str]]:
    """Each command with what the page shows of its answer."""
    parts = re.split(r"^\$ ", "".join(blocks(path, "console", heading)), flags=re.MULTILINE)[1:]
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]


def pattern(shown: str) -> str:
    """`...` stands for anything; spaces at the ends of lines do not count."""
    return r"[\s\S]*".join(re.escape(part) for part in plain(shown).split("..."))


def plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


class Site:
    """An owner's folder beside an aggregator that runs, and four engines that take part."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        engines = fleet.gather(None, 4, 5, 1, seed=3)
        self.aggregator = AggregatorProcess(folder / "aggregator")
        self.aggregator.prepare(federation_of(engines, rounds=1, deadline=900.0))
        self.aggregator.start()
        tasks = []
        for engine in engines.clients[1:]:
            data = folder / f"{engine.name}.csv"
            fleet.write_csv(data, engine, engines.sensor)
            ticket = self.aggregator.invite(engine.name, "client").to_text()
            home, notebook = folder / "others" / engine.name, folder / "notebook"
            tasks.append(AgentTask(str(home), ticket, str(data), str(notebook), {}))
        fleet.write_csv(folder / "engine-1.csv", engines.clients[0], engines.sensor)
        shutil.copy(EXAMPLE, folder / "new-engine.csv")
        (folder / "docs" / "examples").mkdir(parents=True)
        shutil.copy(EXAMPLE, folder / "docs" / "examples")
        (folder / "engine-1.ticket").write_text(self.aggregator.invite("engine-1", "client").to_text())
        for name in ("bench-9", "bench-10", "my-engine"):
            (folder / f"{name}.ticket").write_text(self.aggregator.invite(name, "reader").to_text() + "\n")
        write_tasks(folder / "others.json", tasks)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("FGPR_")} | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": "100",
            "OPENBLAS_NUM_THREADS": "1",
        }
        with (folder / "others.log").open("wb") as log:
            self.others = subprocess.Popen(
                [sys.executable, "-m", "demo.agent_process", str(folder / "others.json")],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def run(self, command: str) -> str:
        command = command.replace(ADDRESS, self.aggregator.settings.origin).replace(NAMED, FEDERATION)
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=900
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def follow(self, steps: list[tuple[str, str]]) -> None:
        """Run each command; it prints what the page shows."""
        assert steps
        for command, shown in steps:
            printed = plain(self.run(command)).replace(FEDERATION, NAMED)
            told = f"$ {command}\n{printed}\nthe page shows\n{shown}"
            assert not shown.strip() or re.fullmatch(pattern(shown), printed), told

    def end(self) -> None:
        self.others.terminate()
        self.others.wait(30)
        self.aggregator.stop()
        self.aggregator.context.database.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """After the first recipe, in which engine-1 joins and round 1 is published: the others build on it."""
    if shutil.which("curl") is None:
        pytest.skip("the recipes' commands want curl")
    made = Site(tmp_path_factory.mktemp("recipes"))
    try:
        made.follow(commands(RECIPES, "Join a federation"))
        yield made
    finally:
        made.end()


def test_a_new_engine_predicts_from_20_cycles(site: Site) -> None:
    site.follow(commands(RECIPES, "Enrol a new engine and predict from 20 cycles"))
    lines = (site.folder / "bench-9.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == [f"{cycle}.0" for cycle in range(21, 61)]
    site.follow(commands(RECIPES, "The same by REST"))
    site.follow(commands(RECIPES, "Audit a round"))


def test_the_python_in_it(site: Site) -> None:
    (code,) = blocks(RECIPES, "python")
    assert code in README.read_text(encoding="utf-8")
    (site.folder / "example.py").write_text(code)
    printed = site.run("python example.py").splitlines()
    assert printed[0].startswith("prior 1, verified at ")
    assert re.fullmatch(r"next cycle: 1\d{3}\.\d to 1\d{3}\.\d", printed[1])
    assert re.fullmatch(r"\d+ entries of the audit log hold", printed[2])


def test_a_key_is_rotated_and_the_engine_leaves(site: Site) -> None:
    site.follow(commands(RECIPES, "Rotate a key") + commands(RECIPES, "Leave"))
    gone = subprocess.run(
        ["fgpr-agent", "prior", "show", "--home", "engine-1"],
        cwd=site.folder,
        env=site.environment,
        capture_output=True,
        text=True,
    )
    assert (gone.returncode, "revoked" in gone.stderr) == (1, True)


def test_a_first_prediction_in_five_commands(site: Site) -> None:
    shown = commands(README, "A first prediction")
    assert len(shown) <= 5
    transcript = commands(FIRST)
    assert [command for command, _ in shown] == [command for command, _ in transcript]
    # What installs is what made this environment; the rest is run, and prints what the transcript shows.
    site.follow([step for step in transcript if step[0].startswith("fgpr-")])
    assert (site.folder / "my-engine.png").read_bytes().startswith(b"\x89PNG")


def test_every_block_of_the_page_is_run() -> None:
    run = ["Join a federation", "Enrol a new engine and predict from 20 cycles", "The same by REST", "Audit a round"]
    run += ["Rotate a key", "Leave"]
    assert sum(len(commands(RECIPES, heading)) for heading in run) == len(commands(RECIPES))

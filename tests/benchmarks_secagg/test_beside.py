import json
import sys
from pathlib import Path

import pytest

from benchmarks_secagg.beside import PRECISION, PYTHON, flower_process, judge_beside, measure_flower
from benchmarks_secagg.cost import Cost
from benchmarks_secagg.flower_round import FlowerCost


def ours(clients: int = 60) -> Cost:
    return Cost(clients, 60, 45, 15.0, 1.0, 10.0, 1.0, 20.0, 9.0, 1.5, 28_000, 1_000, 9_000, 60_000)


def test_ratios_are_of_the_same_work() -> None:
    lines = {line.name: line for line in judge_beside(ours(), FlowerCost(500.0, 20_000.0, 43_500, 1e-6))}
    assert lines["n = 60: client and member, Flower / fgpr"].value == 20.0
    assert lines["n = 60: aggregator, Flower / fgpr"].value == 1000.0
    assert lines["n = 60: bytes up, Flower / fgpr"].value == 1.5
    assert lines["n = 60: bytes up, Flower / fgpr"].met is None
    assert [line.met for line in lines.values() if line.met is not None] == [True, True, True]


def test_a_wrong_average_or_a_small_ratio_misses() -> None:
    judged = judge_beside(ours(), FlowerCost(200.0, 1_900.0, 43_500, 2 * PRECISION))
    assert [line.met for line in judged if line.met is not None] == [False, False, False]
    # Of ten clients only the average is judged.
    assert [line.met for line in judge_beside(ours(10), FlowerCost(200.0, 1_900.0, 43_500, 0.0))].count(None) == 6


def test_without_an_environment_of_its_own_there_is_no_flower(tmp_path: Path) -> None:
    with flower_process(tmp_path / "python") as process:
        assert process is None


def test_what_is_asked_is_the_round_that_was_measured(tmp_path: Path) -> None:
    heard, program = tmp_path / "heard", tmp_path / "python"
    answer = json.dumps({"client": 1.5, "server": 2.5, "upload": 7, "off": 0.0})
    program.write_text(
        f"#!{sys.executable}\nimport sys\nprint('{{}}', flush=True)\n"
        f"open({str(heard)!r}, 'w').write(sys.stdin.readline())\nprint({answer!r}, flush=True)\n"
    )
    program.chmod(0o755)
    with flower_process(program) as process:
        assert process is not None
        assert measure_flower(process, ours()) == FlowerCost(1.5, 2.5, 7, 0.0)
    asked = {"clients": 60, "lost": 6, "threshold": 45, "numbers": 32, "weight": 192}
    assert json.loads(heard.read_text()) == asked


@pytest.mark.slow
@pytest.mark.skipif(not PYTHON.is_file(), reason="no Flower: make setup-flower")
def test_flower_averages_right() -> None:
    few = Cost(5, 5, 4, 15.0, 1.0, 10.0, 1.0, 20.0, 9.0, 1.5, 28_000, 1_000, 9_000, 60_000)
    with flower_process() as process:
        assert process is not None
        assert set(process.versions) == {"Flower"}
        cost = measure_flower(process, few)
    assert min(cost.client, cost.server) > 0
    # Two public keys in PEM, four ciphertexts of two shares each, and 33 numbers of eight bytes.
    assert 2 * 200 + 4 * 500 + 33 * 8 < cost.upload < 10_000
    assert cost.off < PRECISION

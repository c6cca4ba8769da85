"""One cold start as a process, and what the report makes of several."""

from pathlib import Path

import pytest

from benchmarks_predict.__main__ import judged
from benchmarks_predict.cold_start import Start, prepare, start


@pytest.mark.slow
def test_a_prediction_loads_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    found = start(tmp_path, *prepare(tmp_path, 20))
    assert found.heavy == ()
    # Memory, unlike time, does not depend on what else the machine does.
    assert 20 < found.megabytes < 150


def test_the_median_of_the_time_and_the_worst_memory_count() -> None:
    starts = [Start(0.5, 0.4, 90.0, ()), Start(0.7, 0.5, 160.0, ()), Start(3.0, 0.9, 91.0, ())]
    median, slowest, cpu, memory = judged(20, starts)
    assert (median.value, median.met) == (0.7, True)
    assert (slowest.value, slowest.met) == (3.0, None)
    assert (cpu.value, cpu.met) == (0.5, None)
    assert (memory.value, memory.met) == (160.0, False)

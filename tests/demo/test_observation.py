import json
from pathlib import Path

import numpy as np
import pytest

from demo.observation import Notebook
from fgpr.errors import DataError


def test_the_average_is_exact_and_weighted_by_observations(tmp_path: Path) -> None:
    notebook = Notebook(tmp_path / "notebook")
    notebook.write(1, "engine-001", np.array([1.0, -2.0, 0.25]), 100)
    notebook.write(1, "engine-002", np.array([2.0, 6.0, 0.5]), 300)
    notebook.write(1, "engine-003", np.array([50.0, 50.0, 50.0]), 1000)
    notebook.write(2, "engine-001", np.array([9.0, 9.0, 9.0]), 1)
    # By hand: (100 a + 300 b) / 400; who is not in the cohort and what belongs to another round does not count.
    assert notebook.exact_average(1, ["engine-001", "engine-002"]).tolist() == [1.75, 4.0, 0.4375]
    assert notebook.exact_average(2, ["engine-001"]).tolist() == [9.0, 9.0, 9.0]


def test_every_digit_is_kept(tmp_path: Path) -> None:
    notebook, theta = Notebook(tmp_path), np.array([1 / 3, np.pi * 1e-17, -np.e * 1e12])
    notebook.write(1, "engine-001", theta, 7)
    assert np.array_equal(Notebook(tmp_path).exact_average(1, ["engine-001"]), theta)


def test_the_last_note_of_a_round_counts(tmp_path: Path) -> None:
    # An agent that is killed after it trained trains again when it is back.
    notebook = Notebook(tmp_path)
    notebook.write(1, "engine-001", np.array([1.0]), 5)
    notebook.write(1, "engine-001", np.array([2.0]), 5)
    assert notebook.exact_average(1, ["engine-001"]).tolist() == [2.0]


def test_a_note_that_is_cut_short_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Notebook(tmp_path)
    notebook.write(1, "engine-001", np.array([1.0]), 5)

    def half(path: Path, text: str) -> int:
        with path.open("w") as file:
            file.write(text[: len(text) // 2])
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", half)
        with pytest.raises(OSError, match="no space left"):
            notebook.write(1, "engine-001", np.array([2.0]), 5)
    assert notebook.exact_average(1, ["engine-001"]).tolist() == [1.0]
    notebook.write(1, "engine-001", np.array([3.0]), 5)
    assert [path.name for path in tmp_path.iterdir()] == ["000001-engine-001.json"]
    assert json.loads((tmp_path / "000001-engine-001.json").read_text()) == {"theta": [3.0], "observations": 5}


def test_who_noted_nothing_and_who_has_nothing_is_an_error(tmp_path: Path) -> None:
    notebook = Notebook(tmp_path)
    notebook.write(1, "engine-001", np.array([1.0]), 5)
    with pytest.raises(OSError, match="000001-engine-002"):
        notebook.exact_average(1, ["engine-001", "engine-002"])
    with pytest.raises(DataError, match="no examples"):
        notebook.exact_average(1, [])

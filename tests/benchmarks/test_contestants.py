"""The contestants of `make bench` compute the same thing; how fast they are is for the bench itself to say."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.contestants import Lapack, Ours, ScikitLearn
from benchmarks.measure import disagreement
from benchmarks.peer_process import PYTHON, peer_process
from benchmarks.problem import KERNELS, Problem
from benchmarks.targets import AGREEMENT


@pytest.mark.parametrize(("rows", "features"), [(8, 1), (100, 8), (256, 21)])
@pytest.mark.parametrize("kernel", KERNELS)
def test_scikit_learn_agrees(kernel: str, rows: int, features: int) -> None:
    problem = Problem(kernel, rows, features)
    assert disagreement(Ours(problem).answer(), ScikitLearn(problem).answer()) <= AGREEMENT


def test_a_problem_is_the_same_each_time_it_is_made() -> None:
    for one, other in zip(Problem("rbf", 32, 1).data(), Problem("matern-3/2", 32, 1).data(), strict=True):
        assert np.array_equal(one, other)
    assert Problem("rbf", 32, 1).label == "rbf 32x1"


def test_lapack_is_timed_on_a_matrix_that_has_a_factor() -> None:
    lapack = Lapack(Problem("rbf", 100, 8))
    assert lapack.step(2) > 0
    inverse = np.tril(lapack.work)
    inverse += np.tril(inverse, -1).T
    np.testing.assert_allclose(inverse @ lapack.matrix, np.eye(100), rtol=0, atol=1e-10)


def test_without_an_environment_of_theirs_there_are_no_peers(tmp_path: Path) -> None:
    with peer_process(tmp_path / "python") as peers:
        assert peers is None


@pytest.mark.slow
@pytest.mark.skipif(not PYTHON.is_file(), reason="no peers: make setup-peers")
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_peers_agree(kernel: str) -> None:
    with peer_process() as peers:
        assert peers is not None
        problem = Problem(kernel, 32, 3)
        answers = {peer.name: peer.answer() for peer in peers.contestants(problem)}
        ours = Ours(problem).answer()
        assert set(answers) == {"GPyTorch", "JAX"}
        assert all(answer and disagreement(ours, answer) <= AGREEMENT for answer in answers.values())

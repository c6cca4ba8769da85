import numpy as np
import pytest

from fgpr.errors import DataError
from fgpr.gp.arrays import duplicate_rows, inputs, targets
from fgpr.gp.memory import check_memory


def test_a_flat_sequence_is_one_input_a_row() -> None:
    assert inputs([1, 2, 3]).shape == (3, 1)


@pytest.mark.parametrize(
    ("X", "says"),
    [
        ([[1.0, 2.0], [3.0, np.nan]], "row 2, input 2 is nan"),
        ([[np.inf], [1.0]], "row 1, input 1 is inf"),
        (np.zeros((2, 2, 2)), "shape"),
        (np.zeros((2, 0)), "shape"),
        ([["a"], ["b"]], "not numbers"),
        ([[1.0], [1.0, 2.0]], "not numbers, or not of one size"),
        ([1.0 + 2.0j], "complex"),
        (np.ma.masked_array([1.0, 2.0], [True, False]), "1 inputs are masked"),
    ],
)
def test_bad_inputs_are_refused(X: object, says: str) -> None:
    with pytest.raises(DataError, match=says):
        inputs(X)  # type: ignore[arg-type]  # bad on purpose


def test_a_masked_array_without_a_mask_is_an_array() -> None:
    assert inputs(np.ma.masked_array([1.0, 2.0])).tolist() == [[1.0], [2.0]]


def test_another_number_of_features_names_both() -> None:
    with pytest.raises(DataError, match="2 columns, the model has 3 features"):
        inputs(np.zeros((4, 2)), 3)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_case_a8_a_target_that_is_not_finite_is_named_by_its_row(bad: float) -> None:
    with pytest.raises(DataError, match="row 2 is"):
        targets([1.0, bad, 3.0, 4.0])


def test_targets_of_another_shape_are_refused() -> None:
    with pytest.raises(DataError, match="3 targets for 4 rows"):
        targets([1.0, 2.0, 3.0], 4)
    with pytest.raises(DataError, match="one number a row"):
        targets(np.zeros((2, 2)))


@pytest.mark.parametrize(("rows", "gigabytes"), [(20_631, "3.41"), (53_759, "23.12"), (61_249, "30.01")])
def test_case_a9_memory_is_estimated_before_it_is_taken(rows: int, gigabytes: str) -> None:
    with pytest.raises(DataError, match=rf"{rows} rows need {gigabytes} GB .* limit of 3.00 GB"):
        check_memory(rows, limit=3_000_000_000)
    check_memory(543, matrices=2)


def test_duplicate_rows_are_grouped_in_order() -> None:
    X = np.array([[3.0, 1.0], [1.0, 1.0], [3.0, 1.0], [2.0, 0.0], [1.0, 1.0], [3.0, 1.0]])
    assert duplicate_rows(X) == [[1, 3, 6], [2, 5]]
    assert duplicate_rows(X[1:3]) == []

import numpy as np
import pytest

from evlearn.belief import FocalSets, check_masses

SETS = FocalSets.full(2)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0, -0.2, 1.2, 0], r"must not be negative, but is -0\.2 at row 1, column 1 \(the set \{0\}\)"),
        ([0, 0.5, 0.4, 0], r"must sum to 1, but row 1 sums to 0\.9\. If the values are rounded"),
        ([0, np.nan, 1, 0], r"has nan at row 1, column 1 \(the set \{0\}\)"),
        ([0, 0, np.inf, 0], r"has inf at row 1, column 2"),
    ],
)
def test_an_invalid_row_is_an_error_with_its_position_and_a_remedy(row, message):
    with pytest.raises(ValueError, match=message):
        check_masses([[0, 1, 0, 0], row], SETS)


def test_an_invalid_row_in_a_later_block_is_found():
    masses = np.tile([0, 1.0, 0, 0], (50_000, 1))
    masses[40_001, 0] = 0.5
    with pytest.raises(ValueError, match=r"row 40001 sums to 1\.5"):
        check_masses(masses, SETS)


def test_a_wrong_number_of_columns_is_an_error_with_a_remedy():
    with pytest.raises(
        ValueError, match=r"x must have one column for each of the 4 focal sets.*has 3.*reorder_masses"
    ):
        check_masses([[0, 1, 0]], SETS, name="x")


def test_arrays_are_not_copied_and_precision_is_preserved():
    for dtype in (np.float32, np.float64):
        masses = np.full((5, 4), 0.25, dtype=dtype)
        assert check_masses(masses, SETS) is masses
    assert check_masses([[0, 1, 0, 0]], SETS).dtype == np.float64
    rounded = np.random.default_rng(0).dirichlet(np.ones(4), size=1000).astype(np.float32)
    check_masses(rounded, SETS)
